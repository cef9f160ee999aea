import type { Verdict, VerdictFacts } from "./decide.ts";
import { type DenyReason, isRecoverable } from "./deny-reason.ts";
import type { HopRequest } from "./hop.ts";
import type { DecisionStage, GuaranteeLevel, Outcome, Taint, TargetKind } from "./kinds.ts";
import type { RecordedPresent } from "./recorded-present.ts";
import type { MarkSource } from "./taint.ts";

/** Records of version 1 carry no parent; what is written today is version 2. */
export const recordVersion = 2;

/** One row of the audit log: the request, the decision and its facts. Never changed once written. */
export interface DecisionRecord {
  /** Identifies the action; also the primary key. */
  readonly actionId: string;
  readonly recordVersion: number;
  readonly sessionId: string;
  readonly stage: DecisionStage;
  readonly hop: number;
  /** Agents up to the acting one; empty at hop 1. */
  readonly chain: readonly string[];
  /** The agent that calls; at hop 1 the human's subject. */
  readonly actingAgent: string;
  readonly target: string;
  readonly targetKind: TargetKind;
  readonly dataClass: string;
  readonly decision: Outcome;
  /** Present exactly for a deny. */
  readonly denyReason: DenyReason | null;
  readonly recoverable: boolean;
  /** False in observe mode: a deny was forwarded. */
  readonly enforced: boolean;
  readonly privileged: boolean;
  readonly taint: Taint;
  readonly taintSource: MarkSource | null;
  readonly policyVersion: number;
  readonly guaranteeLevel: GuaranteeLevel | null;
  /** The action whose exchange made the token that was presented; null at hop 1. */
  readonly parentActionId: string | null;
  /** Epoch milliseconds. */
  readonly decidedAtMs: number;
  readonly present: RecordedPresent | null;
}

/** What neither the request nor the verdict holds. */
type RecordContext = Omit<
  DecisionRecord,
  keyof HopRequest | keyof VerdictFacts | "recordVersion" | "decision" | "denyReason" | "recoverable" | "taintSource"
>;

export const toDecisionRecord = (hop: HopRequest, verdict: Verdict, context: RecordContext): DecisionRecord => ({
  ...context,
  recordVersion,
  hop: hop.hop,
  chain: hop.chain,
  target: hop.target,
  targetKind: hop.targetKind,
  dataClass: hop.dataClass,
  decision: verdict.outcome,
  denyReason: verdict.outcome === "deny" ? verdict.reason : null,
  recoverable: verdict.outcome === "deny" && isRecoverable(verdict.reason),
  privileged: verdict.facts.privileged,
  taint: verdict.facts.taint,
  taintSource: verdict.facts.source,
  guaranteeLevel: verdict.facts.guaranteeLevel,
});
