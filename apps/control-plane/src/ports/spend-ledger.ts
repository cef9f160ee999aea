import type { Committed, Marking } from "./decision-log.ts";
import type { Epochs } from "./session-state.ts";

/** Proof of possession that a spend used up. */
export interface Prover {
  readonly agent: string;
  /** SHA-256 of the proof's `jti`. */
  readonly proofJtiHash: Uint8Array;
}

export interface SpendBase {
  /** SHA-256 of the token's `jti`. */
  readonly jtiHash: Uint8Array;
  readonly sessionId: string;
  readonly prover: Prover | undefined;
  readonly spentAtMs: number;
}

/** An exchange spends a token and an allow together. */
export interface Exchange extends SpendBase {
  readonly kind: "exchange";
  readonly actionId: string;
}

/** A renewal spends a token alone, and is an event of the audit by itself. */
export interface Renewal extends SpendBase {
  readonly kind: "renewal";
  /** Time-ordered: the event's identifier. */
  readonly renewalId: string;
  /** The token's holder; at hop 1 the human's subject. */
  readonly actor: string;
  /** Null for the human. */
  readonly agent: string | null;
}

export type Spend = Exchange | Renewal;

/**
 * `spent`: durable, and no other call will ever get this answer for this token or allow. The others spent nothing:
 * `token_spent`, `allow_spent` and `proof_used` say what was used before; `stale` that session or denials changed since
 * `epochs` were read.
 */
export type SpendOutcome =
  | (Committed & { readonly kind: "spent" })
  | { readonly kind: "token_spent" | "allow_spent" | "proof_used" | "stale" };

export interface SpendLedger {
  /** Atomic across processes, its marks included; a database constraint decides. */
  spend(spend: Spend, marking: Marking, epochs: Epochs): Promise<SpendOutcome>;
  /** What was spent before: a fast answer, never proof that nothing was. */
  spent(sessionId: string, jtiHash: Uint8Array, actionId: string | undefined): Promise<Spent>;
  mint(mint: Mint, epochs: Epochs): Promise<MintOutcome>;
  /** Whether an exchange spent this allow, and whether a transaction token was minted for it. */
  uses(sessionId: string, actionId: string): Promise<{ readonly exchanged: boolean; readonly minted: boolean }>;
}

export interface Spent {
  readonly token: boolean;
  readonly allow: boolean;
}

export interface Mint {
  readonly actionId: string;
  readonly sessionId: string;
  readonly paramsHash: string;
  readonly prover: Prover | undefined;
  readonly mintedAtMs: number;
}

export type MintOutcome = "minted" | "already_minted" | "proof_used" | "stale";
