import { type DecisionRecord, type DecisionStage, type HopRequest, toDecisionRecord } from "@svc/core";
import type { HopDeps } from "../deps.ts";
import type { HopState } from "./hop-state.ts";
import type { Judged } from "./verdict.ts";

export interface RecordedDenial {
  readonly record: DecisionRecord;
  readonly marks: number;
}

/** Commits the new deny of an action that was allowed before. It inherits `enforced` from the allow. */
export async function recordDenial(
  deps: HopDeps,
  { session, policy }: HopState,
  allow: DecisionRecord,
  hop: HopRequest,
  { verdict, marking, present }: Judged,
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
    present,
  });
  const outcome = await deps.decisionLog.append(record, marking, session.epochs);
  return outcome === "stale" ? "stale" : { record, marks: outcome.marks };
}
