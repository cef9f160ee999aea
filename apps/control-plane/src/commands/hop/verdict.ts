import {
  type CallEffects,
  callEffects,
  type DecisionRecord,
  decide,
  type HopRequest,
  newSessionMarks,
  type PolicyIndex,
  type PresentState,
  type RecordedPresent,
  recordPresent,
  type SessionDelegation,
  toDecisionRecord,
  type Verdict,
} from "@svc/core";
import type { Marking } from "../../ports/decision-log.ts";
import type { Policies } from "../../ports/manifests.ts";
import type { HopDeps } from "../deps.ts";
import { type HopState, jtiHashOf, toPresentState } from "./hop-state.ts";

export interface Judged {
  readonly verdict: Verdict;
  readonly marking: Marking;
  /** The part of the present state that the record keeps. */
  readonly present: RecordedPresent | null;
}

export async function judge(deps: HopDeps, state: HopState, hop: HopRequest, enforced: boolean): Promise<Judged> {
  const { policy, session } = state;
  const present = toPresentState(deps, session, enforced);
  const verdict = await verdictOf(deps, policy, hop, present);
  const marking = markingOf(hop, callEffects(policy, hop, verdict, enforced), state);
  return { verdict, marking, present: recordPresent(policy, hop, present, verdict) };
}

export async function verdictOf(
  deps: { readonly policies: Pick<Policies, "currentOf"> },
  policy: PolicyIndex,
  hop: HopRequest,
  present: PresentState,
): Promise<Verdict> {
  const verdict = decide(policy, hop, present);
  if (verdict.outcome === "allow" || !mayBeConsentedElsewhere(verdict.reason)) return verdict;
  const caller = hop.chain.at(-1);
  const current = await deps.policies.currentOf(caller === undefined ? [...policy.human.downstream] : [caller]);
  const otherScopes = current.filter(({ scope }) => scope !== policy.scope);
  return otherScopes.length === 0 ? verdict : decide(policy, hop, { ...present, otherScopes });
}

/** Only these reasons can become SCOPE_NOT_CONSENTED, which needs the other scopes' policies. */
const mayBeConsentedElsewhere = (reason: string): boolean =>
  reason === "TARGET_NOT_DECLARED" || reason === "DATA_CLASS_NOT_DECLARED";

/** Reads the session's delegations only where there are marks to set, so that most decisions commit in one statement. */
function markingOf(hop: HopRequest, effects: CallEffects, { claims, session: { marks } }: HopState): Marking {
  if (newSessionMarks(hop, effects, marks, []).length > 0) {
    const marksFor = (delegations: readonly SessionDelegation[]) => newSessionMarks(hop, effects, marks, delegations);
    return { kind: "marks", marksFor, jtiHash: jtiHashOf(claims) };
  }
  return { kind: effects.observed.kind === "delegation" ? "delegation" : "none" };
}

/** What the record of a decision says of the call, and no verdict decides. */
export type CallFacts = Pick<DecisionRecord, "stage" | "sessionId" | "actingAgent" | "enforced" | "parentActionId">;

export const recordOf = (
  deps: HopDeps,
  { policy }: HopState,
  hop: HopRequest,
  { verdict, present }: Judged,
  { stage, sessionId, actingAgent, enforced, parentActionId }: CallFacts,
  actionId: string,
): DecisionRecord =>
  toDecisionRecord(hop, verdict, {
    ...{ stage, sessionId, actingAgent, enforced, parentActionId },
    ...{ actionId, policyVersion: policy.version, decidedAtMs: deps.clock.nowMs(), present },
  });

export interface Recorded {
  readonly record: DecisionRecord;
  /** How many marks were set. */
  readonly marks: number;
}

/** Commits a decision. The new deny of an action that was allowed before inherits what its allow says of the call. */
export async function commitDecision(
  deps: HopDeps,
  state: HopState,
  hop: HopRequest,
  judged: Judged,
  call: CallFacts,
  actionId = deps.ids.next(),
): Promise<Recorded | "stale"> {
  const record = recordOf(deps, state, hop, judged, call, actionId);
  const outcome = await deps.decisionLog.append(record, judged.marking, state.session.epochs);
  return outcome === "stale" ? "stale" : { record, marks: outcome.marks };
}
