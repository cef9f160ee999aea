import type { AgentManifest, DiffEntry } from "@svc/core";
import type { NameClaim } from "../../ports/manifests.ts";

/** The names that a manifest claims: its agent and its tools. */
export function claimsOf(agent: string, manifest: AgentManifest): readonly NameClaim[] {
  const refs = new Set([...manifest.scopes.values()].flatMap(({ tools }) => tools.map(({ ref }) => ref)));
  return [{ name: agent, kind: "agent" }, ...[...refs].map((name) => ({ name, kind: "tool" }) as const)];
}

/** No name is both an agent and a tool's reference. The later manifest gets the conflict in its diff. */
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

/** One entry per reference; a conflict replaces other differences. */
export const withConflicts = (diff: readonly DiffEntry[], conflicts: readonly DiffEntry[]): readonly DiffEntry[] => [
  ...diff.filter(({ ref }) => !conflicts.some((conflict) => conflict.ref === ref)),
  ...conflicts,
];
