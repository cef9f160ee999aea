import { type DecisionRecord, type DecisionStage, type HopRequest, toDecisionRecord } from "@svc/core";
import type { HopDeps } from "./hop-deps.ts";
import type { Standing } from "./standing.ts";
import type { Judged } from "./verdict.ts";

export interface RecordedDenial {
  readonly record: DecisionRecord;
  readonly marks: number;
}

/**
 * Commits the fresh deny of an action that was allowed before; it inherits the allow's `enforced`. `stale` where the
 * session changed meanwhile.
 */
export async function recordDenial(
  deps: HopDeps,
  { present, policy }: Standing,
  allow: DecisionRecord,
  hop: HopRequest,
  { verdict, marking, present: recorded }: Judged,
  stage: Exclude<DecisionStage, "authorize">,
): Promise<RecordedDenial | "stale"> {
  const record = toDecisionRecord(hop, verdict, {
    actionId: deps.ids.next(),
    sessionId: allow.sessionId,
    stage,
    actingAgent: allow.actingAgent,
    enforced: allow.enforced,
    policyVersion: policy.version,
    parentActionId: allow.parentActionId,
    decidedAtMs: deps.clock.nowMs(),
    present: recorded,
  });
  const outcome = await deps.decisions.append(record, marking, present.epochs);
  return outcome === "stale" ? "stale" : { record, marks: outcome.marks };
}
