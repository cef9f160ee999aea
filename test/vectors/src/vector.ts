import type { Block, DenyReason, GuaranteeLevel, IdentityStatus, Outcome, Taint, TargetKind } from "@svc/core";
import type { Manifests } from "./manifest.ts";

/**
 * One row of a decision table: who asks whom for what, in which state, and what the contract answers
 * (docs/reference/decision.md#the-ten-checks). Plain data, so that the verdict function, the endpoints and the drift
 * gate can all be held to it.
 */
export interface DecisionVector {
  /** What the row promises. */
  readonly name: string;
  /** By agent name, in wire form: every registered agent. */
  readonly manifests: Manifests;
  /** The session's scope. */
  readonly scope: string;
  /** The agents up to the caller; empty where the human calls. */
  readonly chain: readonly string[];
  /** The token's hop; absent: one more than the chain is long, as in every token that an exchange issued. */
  readonly hop?: number;
  readonly target: string;
  readonly targetKind: TargetKind;
  /** One data class; for an agent several, separated by spaces. */
  readonly dataClass: string;
  /**
   * What the subject token was narrowed to. Absent: everything that could have been delegated to the caller; at hop 1
   * nothing, a root grant being as wide as the consent.
   */
  readonly narrowedTo?: readonly string[];
  /** Absent: trusted. */
  readonly tokenTaint?: Taint;
  /** Absent: the request says nothing of taint. */
  readonly declaredTaint?: Taint;
  /** Absent: a live session, nobody enrolled, nothing blocked, nothing marked. */
  readonly present?: PresentFacts;
  readonly want: Wanted;
  /** False where no request leads here: the chain, hop or claim is one that no exchange issues, or the wire refuses it. */
  readonly overHttp?: false;
}

/** The present state, as far as it differs from a quiet one. */
export interface PresentFacts {
  readonly session?: "expired" | "revoked" | "expired and revoked";
  /** By agent name; an agent that never enrolled is absent. */
  readonly identities?: Readonly<Record<string, IdentityStatus>>;
  readonly identityRequired?: boolean;
  readonly blocks?: readonly Block[];
  /** By agent name: the source of its mark. */
  readonly marks?: Readonly<Record<string, string>>;
  /** The source of the mark on the human. */
  readonly humanMark?: string;
}

/** The answer. What is absent has the value that a quiet call has: trusted, unmarked, unprivileged, nothing to consent to. */
export interface Wanted {
  readonly outcome: Outcome;
  /** Exactly for a deny. */
  readonly reason?: DenyReason;
  readonly consentableScopes?: readonly string[];
  readonly taint?: Taint;
  readonly taintSource?: string;
  readonly privileged?: boolean;
  /** Absent: not looked at. */
  readonly guaranteeLevel?: GuaranteeLevel | null;
}

export const allow: Wanted = { outcome: "allow" };

export const deny = (reason: DenyReason, facts: Omit<Wanted, "outcome" | "reason"> = {}): Wanted => ({
  outcome: "deny",
  reason,
  ...facts,
});

/** For SCOPE_NOT_CONSENTED: the scopes whose consent would admit the call. */
export const consentTo = (...consentableScopes: readonly string[]): Wanted =>
  deny("SCOPE_NOT_CONSENTED", { consentableScopes });

/** What a row of a table says of itself; all else it takes from the table's base. */
type Row = Pick<DecisionVector, "name" | "want"> & Partial<DecisionVector>;

/** Rows that each vary one base, a call as it is allowed. */
export const table = (base: Omit<DecisionVector, "name" | "want">, rows: readonly Row[]): readonly DecisionVector[] =>
  rows.map((row) => ({ ...base, ...row }));
