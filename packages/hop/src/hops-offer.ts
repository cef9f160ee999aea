import { serverMetadata } from "@svc/core";
import { parseBody } from "./steps/send.ts";
import type { Transport } from "./transport.ts";

/** Whether the control plane takes hops in one trip. */
export interface HopsOffer {
  /** As its metadata say (RFC 8414). False where these cannot be read. */
  holds(deadlineMs: number): Promise<boolean>;
  /** It answered that there is no such route. */
  withdrawn(): void;
}

/** Upgrades and roll-backs are noticed so soon. */
const heldForMs = 300_000;
const retryMs = 1_000;

export function hopsOffer(transport: Transport, monotonicMs: () => number): HopsOffer {
  let isOffered = false;
  let untilMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  const ask = async (deadlineMs: number): Promise<void> => {
    const request = { method: "GET", path: "/.well-known/oauth-authorization-server", headers: {} } as const;
    const response = await transport.send({ ...request, deadlineMs, maxResponseBytes: 65_536 }).catch(() => undefined);
    isOffered = response?.status === 200 && parseBody(serverMetadata, response)?.svc_hops_endpoint !== undefined;
    untilMs = monotonicMs() + (response === undefined ? retryMs : heldForMs);
  };

  return {
    async holds(deadlineMs) {
      if (monotonicMs() < untilMs) return isOffered;
      asking ??= ask(deadlineMs).finally(() => {
        asking = undefined;
      });
      // A known offer is renewed behind the call.
      if (!isOffered) await asking;
      return isOffered;
    },
    withdrawn() {
      isOffered = false;
      untilMs = monotonicMs() + heldForMs;
    },
  };
}
