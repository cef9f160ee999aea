import { isReady } from "../steps/ready.ts";
import { renew } from "../steps/renew.ts";
import type { StepOptions, StepPorts } from "../steps/step.ts";
import type { RenewalSource } from "./renewal-pool.ts";

/**
 * Renewals over the transport. Their deadline is longer than a call's: an answer that comes too late for the call
 * still brings the tokens for the next one, and only a lost answer costs a token.
 */
export function renewalSource(
  ports: StepPorts,
  { deadlineMs = 10_000, ...options }: Partial<StepOptions> = {},
): RenewalSource {
  return {
    renew: (presented, count) => renew(ports, presented, count, { ...options, deadlineMs }),
    ready: () => isReady(ports, { ...options, deadlineMs: Math.min(deadlineMs, 1_000) }),
  };
}
