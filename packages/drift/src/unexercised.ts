import { isWithin, type PolicyIndex } from "@svc/core";
import type { DeclaredPolicies } from "./declared-policies.ts";
import type { ScopedEdge, UnexercisedEdge } from "./drift-report.ts";

/** Declared edges that no run exercised. The human's calls count for the entry agents that declare the target. */
export function unexercisedEdges(policies: DeclaredPolicies, edges: readonly ScopedEdge[]): readonly UnexercisedEdge[] {
  const exercised = exercisedClasses(policies, edges);
  return policies.scopes.flatMap((policy) =>
    declaredEdges(policy)
      .filter((edge) => {
        const classes = exercised.get(keyOf(edge)) ?? [];
        const { dataClass } = edge;
        return dataClass === null ? classes.length === 0 : !classes.some((name) => isWithin(name, [dataClass]));
      })
      .map((edge) => {
        const manifestFile = policies.fileOf(edge.caller ?? edge.target);
        return manifestFile === undefined ? edge : { ...edge, manifestFile };
      }),
  );
}

function declaredEdges({ scope, policy }: PolicyIndex): readonly UnexercisedEdge[] {
  return Object.entries(policy.document.agents).flatMap(([agent, { entry, tools, downstream_agents }]) => [
    ...(entry ? [delegation(scope, null, agent)] : []),
    ...tools.flatMap(({ ref, data_classes }) =>
      data_classes.map(
        (dataClass): UnexercisedEdge => ({ scope, caller: agent, target: ref, targetKind: "tool", dataClass }),
      ),
    ),
    ...downstream_agents.map((target) => delegation(scope, agent, target)),
  ]);
}

const delegation = (scope: string, caller: string | null, target: string): UnexercisedEdge => ({
  scope,
  caller,
  target,
  targetKind: "agent",
  dataClass: null,
});

type Place = Pick<UnexercisedEdge, "scope" | "caller" | "target" | "targetKind">;

const keyOf = ({ scope, caller, target, targetKind }: Place): string =>
  JSON.stringify([scope, caller, target, targetKind]);

function exercisedClasses(policies: DeclaredPolicies, edges: readonly ScopedEdge[]) {
  const classes = new Map<string, string[]>();
  for (const { scope, chain, target, targetKind, dataClass } of edges) {
    const caller = chain.at(-1);
    const callers = caller === undefined ? [null, ...policies.policyOf(scope).human.downstream] : [caller];
    for (const each of callers) {
      const key = keyOf({ scope, caller: each, target, targetKind });
      const known = classes.get(key);
      if (known) known.push(dataClass);
      else classes.set(key, [dataClass]);
    }
  }
  return classes;
}
