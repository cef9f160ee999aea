/** One attempt to use a token for an action. */
export interface GuardClaim {
  /** Hash of the token's `jti`; never the `jti` itself. */
  readonly key: string;
  readonly actionId: string;
}

/**
 * `claimed`: the first attempt. `same_action`: an attempt for the same action came first, perhaps a late write of this
 * process; the database decides. `other_action`: the token went to another action.
 */
export type ClaimOutcome = "claimed" | "same_action" | "other_action";

/** `evicts`: may drop a live entry under memory pressure. `unknown`: the store does not report it. */
export type EvictionPolicy = "keeps" | "evicts" | "unknown";

/** No answer within the guard's deadline. Whether the entry was written is unknown. */
export class GuardUnavailable extends Error {
  readonly code = "guard_unavailable";
}

/**
 * Rejects replays fast, and remembers a spend that the database lost in a failover
 * (docs/reference/tokens.md#single-use). Every method but `evictionPolicy` throws GuardUnavailable within the guard's
 * deadline.
 */
export interface ReplayGuard {
  /** Atomic across every process on the same store. The first claim sets the entry's lifetime. */
  claim(claim: GuardClaim & { readonly ttlSeconds: number }): Promise<ClaimOutcome>;
  /** Deletes the entry of this action. Only after a definite rollback: an unknown commit keeps it. */
  release(claim: GuardClaim): Promise<void>;
  /** Claims and releases some entries, of every part of the store. */
  ping(): Promise<void>;
  evictionPolicy(): Promise<EvictionPolicy>;
  /** Waits for the first connection, at most so long. */
  connected(withinMs: number): Promise<void>;
  close(): Promise<void>;
}
