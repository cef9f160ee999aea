/** One attempt to use a token: which token, and which allow it is spent on. */
export interface GuardClaim {
  /** Hash of the token's `jti`; never the `jti` itself. */
  readonly key: string;
  readonly actionId: string;
}

/**
 * `claimed`: this attempt is the first. `same_action`: an earlier attempt with the same allow came first, be it a late
 * write of our own; the database decides. `other_action`: the token went to another allow.
 */
export type ClaimOutcome = "claimed" | "same_action" | "other_action";

/** `evicts`: may drop a live entry under memory pressure. `unknown`: the store does not tell. */
export type EvictionPolicy = "keeps" | "evicts" | "unknown";

/** No answer within the guard's own deadline, or none to be had. Whether the entry was written is unknown. */
export class GuardUnavailable extends Error {
  readonly code = "guard_unavailable";
}

/**
 * Rejects replays fast, and remembers a spend that the database lost on a failover (contract: Hop endpoints, "The
 * single use is decided..."). Every method but `evictionPolicy` throws GuardUnavailable within the guard's own deadline.
 */
export interface ReplayGuard {
  /** Atomic across every process on the same store. The first claim gives the entry its full life. */
  claim(claim: GuardClaim & { readonly ttlSeconds: number }): Promise<ClaimOutcome>;
  /** Forgets the entry if it is this action's. Only after a definite rollback: an unknown commit keeps it. */
  release(claim: GuardClaim): Promise<void>;
  /** Whether a claim would be taken just now: it writes. */
  ping(): Promise<void>;
  evictionPolicy(): Promise<EvictionPolicy>;
  /** Waits for the first connection, but not for long: to be asked before it would count as an outage. */
  connected(withinMs: number): Promise<void>;
  close(): Promise<void>;
}
