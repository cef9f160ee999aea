import { mcpMeta } from "@svc/core";
import type { MessageId } from "../protocol.ts";
import type { McpMessage } from "./message.ts";

const changed = (list: string): string => `notifications/${list}/list_changed`;

/** The notifications that a request of 2026-07-28 opts in to. */
const optIns = { toolsListChanged: "tools", promptsListChanged: "prompts", resourcesListChanged: "resources" } as const;

/** For a stream of a session, which gets every notification. */
export const sessionChanges: readonly string[] = Object.values(optIns).map((list) =>
  JSON.stringify({ jsonrpc: "2.0", method: changed(list) }),
);

/** For the stream that `subscriptions/listen` opens; undefined for any other message. */
export function subscribedChanges({ id, method, params }: McpMessage): readonly string[] | undefined {
  if (method !== "subscriptions/listen" || id === undefined) return undefined;
  const { notifications } = params;
  const wanted = typeof notifications === "object" && notifications !== null ? notifications : {};
  return Object.entries(optIns).flatMap(([optIn, list]) =>
    (wanted as Record<string, unknown>)[optIn] === true ? [subscribed(list, id)] : [],
  );
}

const subscribed = (list: string, id: MessageId): string =>
  JSON.stringify({
    jsonrpc: "2.0",
    method: changed(list),
    params: { _meta: { [mcpMeta.subscriptionId]: id } },
  });
