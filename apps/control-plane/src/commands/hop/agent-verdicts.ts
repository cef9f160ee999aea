import {
  type agentVerdict,
  decide,
  explain,
  type HopRequest,
  type PolicyIndex,
  type PresentState,
  recordPresent,
  type TargetKind,
  toDecisionRecord,
} from "@svc/core";
import type { BodyOf, HopDeps } from "../deps.ts";

type AgentVerdict = BodyOf<typeof agentVerdict>;

export interface VerdictQuery {
  readonly agent: string;
  readonly target: string;
  /** Undefined: each class that the agent declares for the target. */
  readonly dataClass: string | undefined;
  /** Undefined: every scope that the agent acts in. */
  readonly scope: string | undefined;
}

/** In the remedy of a call that names no class, of a target that declares none. */
const anyClass = "DATA_CLASS";

/**
 * What `decide` would say to the agent now, in a new session of each scope, untainted and at its shortest path from the
 * person (docs/reference/routes.md#verdicts). It records, marks and spends nothing.
 */
export async function agentVerdicts(deps: HopDeps, query: VerdictQuery): Promise<readonly AgentVerdict[]> {
  const policies = await deps.policies.currentOf([query.agent]);
  const asked = policies
    .filter(({ scope }) => query.scope === undefined || scope === query.scope)
    .sort((one, other) => (one.scope < other.scope ? -1 : 1));
  const verdicts = await Promise.all(asked.map((policy) => verdictsOf(deps, policy, policies, query)));
  return verdicts.flat();
}

async function verdictsOf(
  deps: HopDeps,
  policy: PolicyIndex,
  policies: readonly PolicyIndex[],
  { agent, target, dataClass }: VerdictQuery,
): Promise<readonly AgentVerdict[]> {
  const chain = chainTo(policy, agent);
  const targetKind: TargetKind = policy.agents.has(target) ? "agent" : "tool";
  const denials = await deps.sessionState.denials({ agents: [...chain, target], nowMs: deps.clock.nowMs() });
  const present: PresentState = {
    ...denials,
    session: { expired: false, revoked: false },
    identityRequired: deps.hopSettings.identityRequired,
    marks: new Map(),
    otherScopes: policies.filter(({ scope }) => scope !== policy.scope),
  };
  const classes = dataClass === undefined ? declaredClasses(policy, agent, target) : [dataClass];
  return classes.map((each) => {
    const call = { hop: chain.length + 1, chain, target, targetKind, dataClass: each };
    const hop = { ...call, narrowedTo: undefined, tokenTaint: "trusted_internal", declaredTaint: undefined } as const;
    return verdictOf(policy, hop, present, deps.clock.nowMs());
  });
}

/** The shortest compiled path to the agent; one that nothing leads to stands alone, and is no path. */
function chainTo(policy: PolicyIndex, agent: string): readonly string[] {
  const [shortest = [agent]] = policy.policy.document.paths
    .map(({ path }) => path)
    .filter((path) => path.at(-1) === agent)
    .sort((one, other) => one.length - other.length);
  return shortest;
}

function declaredClasses(policy: PolicyIndex, agent: string, target: string): readonly string[] {
  const caller = policy.agents.get(agent);
  const declared = caller?.downstream.has(target)
    ? policy.agents.get(target)?.reachableClasses
    : caller?.tools.get(target)?.dataClasses;
  return declared === undefined || declared.length === 0 ? [anyClass] : [...declared].sort();
}

function verdictOf(policy: PolicyIndex, hop: HopRequest, present: PresentState, nowMs: number): AgentVerdict {
  const verdict = decide(policy, hop, present);
  const record = toDecisionRecord(hop, verdict, {
    ...{ actionId: "", sessionId: "", stage: "authorize", parentActionId: null, enforced: true },
    ...{ actingAgent: hop.chain.at(-1) ?? "", policyVersion: policy.version, decidedAtMs: nowMs },
    present: recordPresent(policy, hop, present, verdict),
  });
  const { targetKind, dataClass, decision, denyReason, privileged } = record;
  const { remedy } = explain(policy, record, undefined);
  return {
    ...{ scope: policy.scope, policyVersion: policy.version, chain: [...hop.chain] },
    ...{ targetKind, dataClass, decision, denyReason, privileged, remedy },
  };
}
