import type { PoolStore } from "./renewal/pool-store.ts";
import type { Answer, UnusableFault } from "./steps/answer.ts";
import type { RenewResult } from "./steps/renew.ts";
import type { HopCredential } from "./steps/step.ts";

/** What the pool needs of the control plane. Both run on deadlines of their own: a renewal outlives its first caller. */
export interface RenewalSource {
  renew(presented: HopCredential, count: number): Promise<RenewResult>;
  /** Whether the control plane says that it is ready; asked only after a renewal's answer was lost. */
  ready(): Promise<boolean>;
}

/** Pool faults beyond the steps': too many live pools, or the state could not be written. */
export const poolFaults = ["pool_full", "state_unwritable", "closed"] as const;
export type PoolFault = (typeof poolFaults)[number];

/** One unspent token, for one authorize and one exchange. Whoever holds it alone presents it. */
export interface Lease {
  readonly token: string;
  /** Returns the token because it was not spent (a deny, no exchange sent). Not called: it counts as spent. */
  giveBack(): void;
}

export type LeaseResult =
  | { readonly kind: "leased"; readonly lease: Lease }
  /** The presented token is refused, or expired without a live pool, or its pool ran dry. */
  | { readonly kind: "unauthorized" }
  | { readonly kind: "unusable"; readonly fault: UnusableFault | PoolFault; readonly answer?: Answer };

export interface LeaseOptions {
  /** Milliseconds to wait for a token; a renewal under way goes on without the caller. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
}

export interface RenewalPoolOptions {
  readonly source: RenewalSource;
  readonly store?: PoolStore;
  /** Seconds without a lease after which a pool ends. Default 300. */
  readonly idleSeconds?: number;
  /** Most pools held at once. Default 1024. */
  readonly maxPools?: number;
  /** Milliseconds since the epoch; only for what is stored. */
  readonly now?: () => number;
  /** Milliseconds on a clock that never steps. */
  readonly monotonicMs?: () => number;
  /** [0, 1): spreads the renewals of pools that started together. */
  readonly random?: () => number;
  /** Calls `run` every `ms` without keeping the process alive; answers how to stop. */
  readonly every?: (ms: number, run: () => void) => () => void;
}

export interface RenewalPool {
  /** A token to act with in place of the presented one. Never the same token twice, unless it was given back. */
  lease(presented: HopCredential, options: LeaseOptions): Promise<LeaseResult>;
  /** Live pools. */
  readonly size: number;
  /** Ends every timer and refuses further leases; resolves when what was to be stored is stored. */
  close(): Promise<void>;
}
