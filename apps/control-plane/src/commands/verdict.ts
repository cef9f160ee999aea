import { callEffect, decide, type HopRequest, type Verdict } from "@svc/core";
import type { Marking } from "../ports/decision-log.ts";
import type { HopDeps } from "./hop-deps.ts";
import { markingOf, type Standing, toPresentState } from "./standing.ts";

export interface Judged {
  readonly verdict: Verdict;
  readonly marking: Marking;
}

/** Asks the verdict function on the pinned policy and the present state, and says which marks follow. */
export async function judge(deps: HopDeps, standing: Standing, hop: HopRequest, enforced: boolean): Promise<Judged> {
  const verdict = await verdictOf(deps, standing, hop);
  return { verdict, marking: markingOf(hop, callEffect(standing.policy, hop, verdict, enforced), standing) };
}

async function verdictOf(deps: HopDeps, { policy, present }: Standing, hop: HopRequest): Promise<Verdict> {
  const verdict = decide(policy, hop, toPresentState(deps, present));
  if (verdict.outcome === "allow" || !mayBeConsentedElsewhere(verdict.reason)) return verdict;
  const caller = hop.chain.at(-1);
  const agents = caller === undefined ? [...policy.human.downstream] : [caller];
  const current = await deps.policies.currentOf(agents);
  const otherScopes = current.filter(({ scope }) => scope !== policy.scope);
  return otherScopes.length === 0 ? verdict : decide(policy, hop, toPresentState(deps, present, otherScopes));
}

/** Only these two become SCOPE_NOT_CONSENTED, so only they are worth reading other scopes for. */
const mayBeConsentedElsewhere = (reason: string): boolean =>
  reason === "TARGET_NOT_DECLARED" || reason === "DATA_CLASS_NOT_DECLARED";
