import { type DecisionRecord, type Explanation, explain, splitDataClasses } from "@svc/core";
import type { CommandDeps } from "../deps.ts";
import { PolicyMissing } from "../hop/hop-faults.ts";
import { isUuid } from "../identifier.ts";

export interface Explained {
  readonly record: DecisionRecord;
  readonly explanation: Explanation;
}

/** Explains a decision (docs/reference/record.md#explanations). Undefined without such an action. */
export async function explainAction(
  deps: Pick<CommandDeps, "decisions" | "sessions" | "policies">,
  actionId: string,
): Promise<Explained | undefined> {
  const lineage = isUuid(actionId) ? await deps.decisions.lineage(actionId) : undefined;
  if (lineage === undefined) return undefined;
  const { record } = lineage.action;
  const session = await deps.sessions.find(record.sessionId);
  const policy = session && (await deps.policies.pinned(session.scope, record.policyVersion));
  if (policy === undefined) throw new PolicyMissing("a recorded action's session or policy is not stored");
  const parent = record.parentActionId === null ? undefined : lineage.reached.get(record.parentActionId);
  // The presented token was narrowed to the data classes of its own action.
  const narrowedTo = parent && splitDataClasses(parent.record.dataClass);
  return { record, explanation: explain(policy, record, narrowedTo) };
}
