import type { Block, DenyReason, GuaranteeLevel, IdentityStatus, Outcome, Taint, TargetKind } from "@svc/core";
import type { Manifests } from "./manifest.ts";

/**
 * One row of a decision table: caller, target, state, and the decision (docs/reference/decision.md#the-ten-checks).
 * Plain data, so that the verdict function, the endpoints and the drift gate can be tested with it.
 */
export interface DecisionVector {
  /** The row's guarantee. */
  readonly name: string;
  /** By agent name, in wire form: every registered agent. */
  readonly manifests: Manifests;
  /** The session's scope. */
  readonly scope: string;
  /** The agents up to the caller; empty where the person calls. */
  readonly chain: readonly string[];
  /** The token's hop; absent: the chain's length plus one, as in every issued token. */
  readonly hop?: number;
  readonly target: string;
  readonly targetKind: TargetKind;
  /** One data class; for an agent several, separated by spaces. */
  readonly dataClass: string;
  /**
   * The subject token's narrowed scope. Absent: everything that could have been delegated to the caller; at hop 1
   * nothing, since a root grant has the whole consent.
   */
  readonly narrowedTo?: readonly string[];
  /** Absent: trusted. */
  readonly tokenTaint?: Taint;
  /** Absent: the request declares no taint. */
  readonly declaredTaint?: Taint;
  /** Absent: a live session; no enrollments, blocks or marks. */
  readonly present?: PresentFacts;
  readonly want: Wanted;
  /** False where no request can reach it: no exchange issues this chain, hop or claim, or the wire refuses it. */
  readonly overHttp?: false;
}

/** The present state, where it differs from the default. */
export interface PresentFacts {
  readonly session?: "expired" | "revoked" | "expired and revoked";
  /** By agent name; an agent that never enrolled is absent. */
  readonly identities?: Readonly<Record<string, IdentityStatus>>;
  readonly identityRequired?: boolean;
  readonly blocks?: readonly Block[];
  /** By agent name: the source of its mark. */
  readonly marks?: Readonly<Record<string, string>>;
  /** The source of the mark on the person. */
  readonly humanMark?: string;
}

/** The decision. Absent members have their default: trusted, unmarked, unprivileged, nothing to consent to. */
export interface Wanted {
  readonly outcome: Outcome;
  /** For a deny only. */
  readonly reason?: DenyReason;
  readonly consentableScopes?: readonly string[];
  readonly taint?: Taint;
  readonly taintSource?: string;
  readonly privileged?: boolean;
  /** Absent: not compared. */
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

/** A row's own members; the others come from the table's base. */
type Row = Pick<DecisionVector, "name" | "want"> & Partial<DecisionVector>;

/** Rows that each vary one base, an allowed call. */
export const table = (base: Omit<DecisionVector, "name" | "want">, rows: readonly Row[]): readonly DecisionVector[] =>
  rows.map((row) => ({ ...base, ...row }));
