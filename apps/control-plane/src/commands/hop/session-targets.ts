import { decide, type PolicyIndex, splitDataClasses, type TargetKind } from "@svc/core";
import type { HopDeps } from "../deps.ts";
import { chainOf, type HopState, loadHopState, narrowedTo, toHopRequest, toPresentState } from "./hop-state.ts";
import { requireVerified, type SubjectToken } from "./hop-tokens.ts";

export interface AllowedTarget {
  readonly target: string;
  readonly targetKind: TargetKind;
  readonly dataClasses: readonly string[];
  readonly privileged: boolean;
}

/**
 * What `decide` would allow the holder of a current-hop token now, sorted by target
 * (docs/reference/routes.md#session-targets). It records, marks and spends nothing. Undefined if the token is no longer
 * good.
 */
export async function sessionTargets(
  deps: HopDeps,
  subject: SubjectToken,
): Promise<readonly AllowedTarget[] | undefined> {
  const state = await loadHopState(deps, requireVerified(subject));
  if (state === undefined) return undefined;
  const withIdentities = await withDownstreamIdentities(deps, state);
  return candidatesOf(withIdentities)
    .map((candidate) => allowedOf(deps, withIdentities, candidate))
    .filter(({ dataClasses }) => dataClasses.length > 0)
    .sort((a, b) => (a.target < b.target ? -1 : 1));
}

/** `loadHopState` reads the identities of the chain only; a revoked downstream agent matters here too. */
async function withDownstreamIdentities(deps: HopDeps, state: HopState): Promise<HopState> {
  const { claims } = state;
  const agents = [...chainOf(claims), ...(callerIndex(state)?.downstream ?? [])];
  const session = await deps.sessionState.read({ sessionId: claims.sessionId, agents, nowMs: deps.clock.nowMs() });
  return session === undefined ? state : { ...state, session };
}

const callerIndex = ({ claims, policy }: HopState) => {
  const caller = chainOf(claims).at(-1);
  return caller === undefined ? policy.human : policy.agents.get(caller);
};

interface Candidate {
  readonly target: string;
  readonly targetKind: TargetKind;
  readonly declared: readonly string[];
}

function candidatesOf(state: HopState): readonly Candidate[] {
  const caller = callerIndex(state);
  const tools = [...(caller?.tools ?? [])].map(([target, { dataClasses }]) => ({
    target,
    targetKind: "tool" as const,
    declared: dataClasses,
  }));
  const agents = [...(caller?.downstream ?? [])].map((target) => ({
    target,
    targetKind: "agent" as const,
    declared: reachableClasses(state.policy, target),
  }));
  return [...tools, ...agents];
}

const reachableClasses = (policy: PolicyIndex, agent: string): readonly string[] =>
  policy.agents.get(agent)?.reachableClasses ?? [];

/** Tries the declared classes and those of the token, which may lie within them. */
function allowedOf(deps: HopDeps, { claims, policy, session }: HopState, candidate: Candidate): AllowedTarget {
  const { target, targetKind, declared } = candidate;
  const present = toPresentState(deps, session);
  const classes = [...new Set([...declared, ...(narrowedTo(claims) ?? [])])].flatMap(splitDataClasses).sort();
  const verdicts = classes.map((dataClass) => {
    const hop = toHopRequest(claims, { target, targetKind, dataClass, declaredTaint: undefined });
    return { dataClass, verdict: decide(policy, hop, present) };
  });
  return {
    target,
    targetKind,
    dataClasses: verdicts.filter(({ verdict }) => verdict.outcome === "allow").map(({ dataClass }) => dataClass),
    privileged: verdicts.some(({ verdict }) => verdict.facts.privileged),
  };
}
