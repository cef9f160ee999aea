import type { Epochs } from "./present.ts";

/** Proof of possession that a spend used up. */
export interface Prover {
  readonly agent: string;
  /** SHA-256 of the proof's `jti`. */
  readonly proofJtiHash: Uint8Array;
}

interface SpendBase {
  /** SHA-256 of the token's `jti`. */
  readonly jtiHash: Uint8Array;
  readonly sessionId: string;
  readonly prover: Prover | undefined;
  readonly spentAtMs: number;
}

/** An exchange spends a token and an allow together; a renewal a token alone. */
export type Spend = SpendBase &
  ({ readonly kind: "exchange"; readonly actionId: string } | { readonly kind: "renewal" });

/**
 * `spent`: durable, and no other call will ever get this answer for this token or allow. `already_spent`: the token, the
 * allow or the proof was used before. `stale`: session or denials changed since `epochs` were read; nothing was spent.
 */
export type SpendOutcome = "spent" | "already_spent" | "stale";

export interface SpendLedger {
  /** Atomic across processes; a database constraint decides. */
  spend(spend: Spend, epochs: Epochs): Promise<SpendOutcome>;
  /** Whether the token or the allow was spent before: a fast answer, never proof that it was not. */
  isSpent(jtiHash: Uint8Array, actionId: string | undefined): Promise<boolean>;
  mint(mint: Mint, epochs: Epochs): Promise<MintOutcome>;
  /** Whether an exchange spent this allow, and whether a transaction token was minted for it. */
  uses(actionId: string): Promise<{ readonly exchanged: boolean; readonly minted: boolean }>;
}

export interface Mint {
  readonly actionId: string;
  readonly sessionId: string;
  readonly paramsHash: string;
  readonly prover: Prover | undefined;
  readonly mintedAtMs: number;
}

export type MintOutcome = "minted" | "already_minted" | "stale";
