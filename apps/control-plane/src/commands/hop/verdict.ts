import {
  callEffect,
  decide,
  type HopRequest,
  type PresentState,
  type RecordedPresent,
  recordPresent,
  type Verdict,
} from "@svc/core";
import type { Marking } from "../../ports/decision-log.ts";
import type { HopDeps } from "./hop-deps.ts";
import { markingOf, type Standing, toPresentState } from "./standing.ts";

export interface Judged {
  readonly verdict: Verdict;
  readonly marking: Marking;
  /** What the record keeps of the state it was judged under. */
  readonly present: RecordedPresent | null;
}

/** Asks the verdict function on the pinned policy and the present state, and says which marks follow. */
export async function judge(deps: HopDeps, standing: Standing, hop: HopRequest, enforced: boolean): Promise<Judged> {
  const { policy } = standing;
  const { verdict, state } = await verdictOf(deps, standing, hop);
  return {
    verdict,
    marking: markingOf(hop, callEffect(policy, hop, verdict, enforced), standing),
    present: recordPresent(policy, hop, state, verdict),
  };
}

interface Asked {
  readonly verdict: Verdict;
  readonly state: PresentState;
}

async function verdictOf(deps: HopDeps, { policy, present }: Standing, hop: HopRequest): Promise<Asked> {
  const state = toPresentState(deps, present);
  const verdict = decide(policy, hop, state);
  if (verdict.outcome === "allow" || !mayBeConsentedElsewhere(verdict.reason)) return { verdict, state };
  const caller = hop.chain.at(-1);
  const agents = caller === undefined ? [...policy.human.downstream] : [caller];
  const current = await deps.policies.currentOf(agents);
  const otherScopes = current.filter(({ scope }) => scope !== policy.scope);
  if (otherScopes.length === 0) return { verdict, state };
  // The same state, not a later one: time has passed since.
  return { verdict: decide(policy, hop, { ...state, otherScopes }), state };
}

/** Only these two become SCOPE_NOT_CONSENTED, so only they are worth reading other scopes for. */
const mayBeConsentedElsewhere = (reason: string): boolean =>
  reason === "TARGET_NOT_DECLARED" || reason === "DATA_CLASS_NOT_DECLARED";
