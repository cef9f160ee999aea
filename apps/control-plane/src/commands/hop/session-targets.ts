import { decide, type HopRequest, type PolicyIndex, splitDataClasses, type TargetKind } from "@svc/core";
import type { HopDeps } from "./hop-deps.ts";
import { chainOf, narrowedTo, readStanding, type Standing, toPresentState, verifySubject } from "./standing.ts";

export interface AllowedTarget {
  readonly target: string;
  readonly targetKind: TargetKind;
  readonly dataClasses: readonly string[];
  readonly privileged: boolean;
}

/**
 * What `decide` would allow the token's holder now, sorted by target (contract: `GET /v1/session/targets`). It
 * records, marks and spends nothing. Undefined for a token that is no current-hop token.
 */
export async function sessionTargets(deps: HopDeps, token: string): Promise<readonly AllowedTarget[] | undefined> {
  const claims = await verifySubject(deps, token);
  if (claims === undefined || claims.targetKind === "tool") return undefined;
  const standing = await readStanding(deps, token, claims);
  if (standing === undefined) return undefined;
  const agents = await withDownstreamIdentities(deps, standing);
  return candidatesOf(agents)
    .map((candidate) => allowedOf(deps, agents, candidate))
    .filter(({ dataClasses }) => dataClasses.length > 0)
    .sort((a, b) => (a.target < b.target ? -1 : 1));
}

/** Whether a downstream agent is revoked counts too, and `readStanding` asked only for the chain. */
async function withDownstreamIdentities(deps: HopDeps, standing: Standing): Promise<Standing> {
  const { claims } = standing;
  const agents = [...chainOf(claims), ...(callerIndex(standing)?.downstream ?? [])];
  const present = await deps.present.read({ sessionId: claims.sessionId, agents, nowMs: deps.clock.nowMs() });
  return present === undefined ? standing : { ...standing, present };
}

const callerIndex = ({ claims, policy }: Standing) => {
  const caller = chainOf(claims).at(-1);
  return caller === undefined ? policy.human : policy.agents.get(caller);
};

interface Candidate {
  readonly target: string;
  readonly targetKind: TargetKind;
  readonly declared: readonly string[];
}

function candidatesOf(standing: Standing): readonly Candidate[] {
  const caller = callerIndex(standing);
  const tools = [...(caller?.tools ?? [])].map(([target, { dataClasses }]) => ({
    target,
    targetKind: "tool" as const,
    declared: dataClasses,
  }));
  const agents = [...(caller?.downstream ?? [])].map((target) => ({
    target,
    targetKind: "agent" as const,
    declared: reachableClasses(standing.policy, target),
  }));
  return [...tools, ...agents];
}

const reachableClasses = (policy: PolicyIndex, agent: string): readonly string[] =>
  policy.agents.get(agent)?.reachableClasses ?? [];

/** Declared classes, and those the token was narrowed to, which may lie within them. */
function allowedOf(deps: HopDeps, standing: Standing, { target, targetKind, declared }: Candidate): AllowedTarget {
  const { claims, policy, present } = standing;
  const state = toPresentState(deps, present);
  const narrowed = narrowedTo(claims);
  const classes = [...new Set([...declared, ...(narrowed ?? [])])].flatMap(splitDataClasses).sort();
  const verdicts = classes.map((dataClass) => {
    const hop: HopRequest = {
      hop: claims.hop,
      chain: chainOf(claims),
      target,
      targetKind,
      dataClass,
      narrowedTo: narrowed,
      tokenTaint: claims.taint,
      declaredTaint: undefined,
    };
    return { dataClass, verdict: decide(policy, hop, state) };
  });
  return {
    target,
    targetKind,
    dataClasses: verdicts.filter(({ verdict }) => verdict.outcome === "allow").map(({ dataClass }) => dataClass),
    privileged: verdicts.some(({ verdict }) => verdict.facts.privileged),
  };
}
