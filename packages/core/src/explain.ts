import { type CheckFacts, factsOf } from "./check-facts.ts";
import { type CheckName, checkNames, runChecks } from "./decide.ts";
import type { DecisionRecord } from "./decision-record.ts";
import type { DenyReason } from "./deny-reason.ts";
import type { HopRequest } from "./hop.ts";
import type { PolicyIndex } from "./policy-index.ts";
import { presentOf } from "./recorded-present.ts";
import { remedyFor } from "./remedy.ts";

export type ExplainedCheck = {
  readonly [Name in CheckName]: { readonly check: Name; readonly passed: boolean; readonly facts: CheckFacts[Name] };
}[CheckName];

export interface Explanation {
  /** Every check, in the order in which they were made. Those behind the first that failed: what each would have said. */
  readonly checks: readonly ExplainedCheck[];
  /** What would admit the call, for a person to act on; null for an allow. */
  readonly remedy: string | null;
}

/**
 * Why an action was decided as it was: the pinned policy, and what stands in the record, asked again (contract: Audit,
 * explanation). The record's own word comes first, so that a damaged row is told as it was decided.
 * @param narrowedTo what the subject token was narrowed to: the data classes of the parent's record
 */
export function explain(
  policy: PolicyIndex,
  record: DecisionRecord,
  narrowedTo: readonly string[] | undefined,
): Explanation {
  const hop = hopOf(record, narrowedTo);
  const failing = runChecks(policy, hop, presentOf(record.present)).flatMap(({ name, reason }) =>
    reason === undefined ? [] : [name],
  );
  const facts = factsOf(policy, hop, record);
  const { denyReason: reason } = record;
  const check = reason === null ? undefined : firstFailed(reason, failing);
  const decidedAt = check === undefined ? checkNames.length : checkNames.indexOf(check);
  const hasPassed = (name: CheckName, at: number): boolean =>
    at < decidedAt || (at > decidedAt && !failing.includes(name));
  return {
    checks: checkNames.map((name, at) => explained(name, hasPassed(name, at), facts)),
    remedy: reason === null || check === undefined ? null : remedyFor({ reason, check, policy, hop, facts }),
  };
}

const explained = (check: CheckName, passed: boolean, facts: CheckFacts) =>
  ({ check, passed, facts: facts[check] }) as ExplainedCheck;

const hopOf = (record: DecisionRecord, narrowedTo: readonly string[] | undefined): HopRequest => ({
  hop: record.hop,
  chain: record.chain,
  target: record.target,
  targetKind: record.targetKind,
  dataClass: record.dataClass,
  narrowedTo,
  tokenTaint: record.taint,
  declaredTaint: undefined,
});

/** The checks that can give a reason. */
const checksOf: Readonly<Record<DenyReason, readonly [CheckName, ...CheckName[]]>> = {
  SESSION_EXPIRED: ["session"],
  SESSION_REVOKED: ["session"],
  AGENT_REVOKED: ["revocation"],
  AGENT_QUARANTINED: ["identity"],
  IDENTITY_REQUIRED: ["identity"],
  TARGET_BLOCKED: ["block"],
  PATH_NOT_DECLARED: ["path", "hop_budget"],
  HOP_BUDGET_EXCEEDED: ["hop_budget"],
  TARGET_NOT_DECLARED: ["target"],
  SCOPE_NOT_CONSENTED: ["target", "data_class"],
  DATA_CLASS_NOT_DECLARED: ["data_class"],
  DATA_CLASS_WIDENED: ["narrowing"],
  TAINT_BLOCKED: ["taint"],
};

function firstFailed(reason: DenyReason, failing: readonly CheckName[]): CheckName {
  const candidates = checksOf[reason];
  return candidates.find((check) => failing.includes(check)) ?? candidates[0];
}
