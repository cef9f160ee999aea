import { type RenewResult, renew } from "../steps/renew.ts";
import { send } from "../steps/send.ts";
import type { HopCredential, StepOptions, StepPorts } from "../steps/step.ts";

/** The control plane as a pool sees it, with deadlines of its own: a renewal outlives the call that started it. */
export interface RenewalSource {
  /** Rejects only where nothing was sent, and so nothing spent. */
  renew(presented: HopCredential, count: number): Promise<RenewResult>;
  /** Whether the control plane's `/readyz` is 200; called only after a renewal's response was lost. Never rejects. */
  ready(): Promise<boolean>;
}

/**
 * Renewals over the transport. Their deadline is longer than a call's: a response that is too late for the call still
 * brings the tokens for the next one, and only a lost response costs a token.
 */
export function renewalSource(
  ports: StepPorts,
  { deadlineMs = 10_000, ...options }: Partial<StepOptions> = {},
): RenewalSource {
  return {
    renew: (presented, count) => renew(ports, presented, count, { ...options, deadlineMs }),
    async ready() {
      const readyOptions = { ...options, deadlineMs: Math.min(deadlineMs, 1_000) };
      const sent = await send(ports, { method: "GET", path: "/readyz", headers: {} }, readyOptions);
      return sent.kind === "received" && sent.response.status === 200;
    },
  };
}
