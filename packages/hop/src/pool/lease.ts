import type { Unusable, UnusableFault } from "../steps/send.ts";

/** One unspent token, for one authorize and one exchange, leased to one caller at a time. */
export interface Lease {
  readonly token: string;
  /** Returns the token because it was not spent (a deny, no exchange sent). Not called: it counts as spent. */
  giveBack(): void;
}

/** Faults beyond the steps': all pools are busy, the state could not be read or written, the pool is closed. */
export const poolFaults = ["pool_full", "state_unavailable", "closed"] as const;
export type PoolFault = (typeof poolFaults)[number];

export interface LeaseFault extends Omit<Unusable, "fault"> {
  readonly fault: UnusableFault | PoolFault;
}

/** Why there is no token. `unauthorized`: the presented one is refused, or expired without a live pool, or it ran dry. */
export type Unleased = { readonly kind: "unauthorized" } | LeaseFault;

export type LeaseResult = { readonly kind: "leased"; readonly lease: Lease } | Unleased;

export interface LeaseOptions {
  /** Milliseconds to wait for a token; a renewal under way continues after it. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
}
