import type { AgentManifest, DiffEntry } from "@svc/core";
import type { NameClaim } from "../../ports/manifests.ts";

/** The names a manifest takes for itself: its agent's and its tools'. */
export function claimsOf(agent: string, manifest: AgentManifest): readonly NameClaim[] {
  const refs = new Set([...manifest.scopes.values()].flatMap(({ tools }) => tools.map(({ ref }) => ref)));
  return [{ name: agent, kind: "agent" }, ...[...refs].map((name) => ({ name, kind: "tool" }) as const)];
}

/** An agent's name is not a tool's reference, nor the other way round: the second comer is told so in its diff. */
export const nameConflicts = (taken: readonly NameClaim[]): readonly DiffEntry[] =>
  taken.map(({ name, kind }) => ({
    ref: name,
    kind: "conflicts",
    field: kind === "agent" ? "name" : "tools",
    declared: kind,
    discovered: kind === "agent" ? "tool" : "agent",
    remedy:
      kind === "agent"
        ? `Register the agent by another name: ${name} is a tool's reference already.`
        : `Give the tool another reference: ${name} is an agent's name already.`,
  }));

/** One entry a reference: a conflict outranks what discovery left open. */
export const withConflicts = (diff: readonly DiffEntry[], conflicts: readonly DiffEntry[]): readonly DiffEntry[] => [
  ...diff.filter(({ ref }) => !conflicts.some((conflict) => conflict.ref === ref)),
  ...conflicts,
];
