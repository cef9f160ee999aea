import type { TracedEdge } from "./aggregate.ts";
import type { ScopedEdge } from "./drift-report.ts";

/**
 * Resolves the scope of edges whose process did not see its session's first hop: that of the recorded delegation that
 * made their chain, where it was recorded under one scope alone.
 */
export function resolveScopes(edges: readonly TracedEdge[]): {
  readonly scoped: readonly ScopedEdge[];
  readonly unknown: readonly TracedEdge[];
} {
  const scopesOf = new Map<string, Set<string>>();
  const scoped: ScopedEdge[] = [];
  const unknown: TracedEdge[] = [];
  // A chain is made by an edge of a shorter one.
  for (const edge of edges.toSorted((a, b) => a.chain.length - b.chain.length)) {
    const scope = edge.scope ?? onlyOf(scopesOf.get(pathOf(edge.chain)));
    if (scope === undefined) {
      unknown.push(edge);
      continue;
    }
    scoped.push({ ...edge, scope });
    if (edge.targetKind === "agent") {
      const path = pathOf([...edge.chain, edge.target]);
      scopesOf.set(path, (scopesOf.get(path) ?? new Set()).add(scope));
    }
  }
  return { scoped, unknown };
}

const pathOf = (agents: readonly string[]): string => JSON.stringify(agents);

function onlyOf(scopes: ReadonlySet<string> | undefined): string | undefined {
  if (scopes?.size !== 1) return undefined;
  const [only] = scopes;
  return only;
}
