import type { PushedKind } from "@svc/core";

const none = { session_id: null, agent: null, block: null, kid: null, not_before: null };

/** An event of the push, as the control plane writes it (docs/reference/identity.md#push). */
export const pushText = (kind: PushedKind, members: object): string => {
  const data = { event_id: crypto.randomUUID(), ts: new Date().toISOString(), kind, ...none, ...members };
  return `event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;
};

/** A heartbeat with the position after the events before it. */
export const heartbeatText = (id: string): string =>
  `event: heartbeat\nid: ${id}\ndata: {"as_of":"2026-01-01T00:00:00.000Z"}\n\n`;

export const resetText = "event: reset\ndata: {}\n\n";
