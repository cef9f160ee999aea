import { decide, type sessionTarget, splitDataClasses, type TargetKind } from "@svc/core";
import type { BodyOf, HopDeps } from "../deps.ts";
import { chainOf, type HopState, loadHopState, narrowedTo, toHopRequest, toPresentState } from "./hop-state.ts";
import { requireVerified, type SubjectToken } from "./hop-tokens.ts";

type AllowedTarget = BodyOf<typeof sessionTarget>;

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
  const { claims, policy } = state;
  const chain = chainOf(claims);
  const caller = chain.at(-1);
  const { tools = [], downstream = [] } = (caller === undefined ? policy.human : policy.agents.get(caller)) ?? {};
  // `loadHopState` reads the identities of the chain only; a revoked downstream agent matters here too.
  const query = { sessionId: claims.sessionId, agents: [...chain, ...downstream], nowMs: deps.clock.nowMs() };
  const session = (await deps.sessionState.read(query)) ?? state.session;
  const allowed = (target: string, targetKind: TargetKind, declared: readonly string[] = []) =>
    allowedOf(deps, { ...state, session }, target, targetKind, declared);
  return [
    ...[...tools].map(([tool, { dataClasses, definitionHash, definitionParts }]) => ({
      ...allowed(tool, "tool", dataClasses),
      definitionHash,
      definitionParts,
    })),
    ...[...downstream].map((agent) => allowed(agent, "agent", policy.agents.get(agent)?.reachableClasses)),
  ]
    .filter(({ dataClasses }) => dataClasses.length > 0)
    .sort((a, b) => (a.target < b.target ? -1 : 1));
}

/** Tries the declared classes and those of the token, which may lie within them. */
function allowedOf(
  deps: HopDeps,
  { claims, policy, session }: HopState,
  target: string,
  targetKind: TargetKind,
  declared: readonly string[],
): AllowedTarget {
  const present = toPresentState(deps, session, true);
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
