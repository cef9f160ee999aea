import type { DecisionRecord } from "@svc/core";
import type { Committed, Marking } from "./decision-log.ts";
import type { Epochs } from "./sessions.ts";

/** A used proof of possession. */
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

/** Spends a token and an allow together. */
export interface Exchange extends SpendBase {
  readonly kind: "exchange";
  readonly actionId: string;
}

/** The spend of a hop that is decided and taken at once. */
export interface HopSpend extends Exchange {
  /** SHA-256 of the `jti` of the token that takes the place of the spent one. */
  readonly siblingJtiHash: Uint8Array;
}

/** Spends a token alone, and is itself an event of the audit. */
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
 * `spent`: durable, and no other call ever gets it for this token or allow. The others spent nothing: `token_spent`,
 * `allow_spent` and `proof_used` name what was used before; `stale`: session or denials changed since `epochs`.
 */
export type SpendOutcome =
  | (Committed & { readonly kind: "spent" })
  | { readonly kind: "token_spent" | "allow_spent" | "proof_used" | "stale" };

/**
 * `spent`: decision and spend are durable. `recorded`: the decision alone, since token or proof was used before, or the
 * session ended meanwhile. `stale`: nothing was written, since session or denials changed since `epochs`.
 */
export type HopOutcome =
  | { readonly kind: "spent" }
  | { readonly kind: "stale" }
  | { readonly kind: "recorded"; readonly used: "token" | "proof" | "none" };

/** Commits an allow and the spend of its token in one statement: no record, no spend. */
export interface HopLedger {
  take(record: DecisionRecord, spend: HopSpend, epochs: Epochs): Promise<HopOutcome>;
}

export interface SpendLedger {
  /** Atomic across processes, its marks included; a database constraint decides. */
  spend(spend: Spend, marking: Marking, epochs: Epochs): Promise<SpendOutcome>;
  /** Earlier spends: a fast answer, never proof that there are none. */
  spent(sessionId: string, jtiHash: Uint8Array, actionId: string | undefined): Promise<Spent>;
  mint(mint: Mint, epochs: Epochs): Promise<MintOutcome>;
  /** Whether the allow was exchanged, and whether a transaction token was minted for it. */
  uses(sessionId: string, actionId: string): Promise<Uses>;
}

export interface Spent {
  readonly token: boolean;
  readonly allow: boolean;
}

export interface Uses {
  readonly exchanged: boolean;
  readonly minted: boolean;
}

export interface Mint extends Pick<Exchange, "actionId" | "sessionId" | "prover"> {
  readonly paramsHash: string;
  readonly mintedAtMs: number;
}

export type MintOutcome = "minted" | "already_minted" | "proof_used" | "stale";
