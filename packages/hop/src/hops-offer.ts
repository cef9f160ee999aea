import { serverMetadata } from "@svc/core";
import { parseBody } from "./steps/send.ts";
import type { Transport } from "./transport.ts";

/** Whether the control plane takes hops in one trip. */
export interface HopsOffer {
  /**
   * As its metadata say (RFC 8414); false until they are read. They are requested behind the call, which does not wait.
   * @param deadlineMs of that request
   */
  holds(deadlineMs: number): boolean;
  /** It answered that there is no such route. */
  withdrawn(): void;
}

/** Upgrades and roll-backs are noticed so soon. */
const heldForMs = 300_000;
const retryMs = 1_000;

export function hopsOffer(transport: Transport, monotonicMs: () => number): HopsOffer {
  let isOffered = false;
  let untilMs = Number.NEGATIVE_INFINITY;
  let isAsking = false;

  const ask = async (deadlineMs: number): Promise<void> => {
    isAsking = true;
    const request = { method: "GET", path: "/.well-known/oauth-authorization-server", headers: {} } as const;
    const response = await transport.send({ ...request, deadlineMs, maxResponseBytes: 65_536 }).catch(() => undefined);
    isOffered = response?.status === 200 && parseBody(serverMetadata, response)?.svc_hops_endpoint !== undefined;
    untilMs = monotonicMs() + (response === undefined ? retryMs : heldForMs);
    isAsking = false;
  };

  return {
    holds(deadlineMs) {
      if (monotonicMs() >= untilMs && !isAsking) void ask(deadlineMs);
      return isOffered;
    },
    withdrawn() {
      isOffered = false;
      untilMs = monotonicMs() + heldForMs;
    },
  };
}
