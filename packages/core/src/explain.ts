import { type CheckFacts, factsOf } from "./check-facts.ts";
import { runChecks } from "./decide.ts";
import type { DecisionRecord } from "./decision-record.ts";
import { type CheckName, checkNames, type DenyReason, denyReasonTable } from "./deny-reason.ts";
import type { PolicyIndex } from "./policy-index.ts";
import { recordedHop } from "./recorded-hop.ts";
import { presentOf } from "./recorded-present.ts";
import { remedyFor } from "./remedy.ts";

export type ExplainedCheck = {
  readonly [Name in CheckName]: { readonly check: Name; readonly passed: boolean; readonly facts: CheckFacts[Name] };
}[CheckName];

export interface Explanation {
  /** Every check in its order. One behind the first that failed has the result that it gives by itself. */
  readonly checks: readonly ExplainedCheck[];
  /** What would admit the call, for a person to act on; null for an allow. */
  readonly remedy: string | null;
}

/**
 * Runs the checks again on the pinned policy and the record (docs/reference/record.md#explanations). The recorded
 * reason decides which check failed, so that a damaged row reads as it was decided.
 * @param narrowedTo what the subject token was narrowed to: the data classes of the parent's record
 */
export function explain(
  policy: PolicyIndex,
  record: DecisionRecord,
  narrowedTo: readonly string[] | undefined,
): Explanation {
  const hop = recordedHop(record, narrowedTo);
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

function firstFailed(reason: DenyReason, failing: readonly CheckName[]): CheckName {
  const { checks } = denyReasonTable[reason];
  return checks.find((check) => failing.includes(check)) ?? checks[0];
}
