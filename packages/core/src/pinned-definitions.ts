import {
  changedMembers,
  type DefinitionChange,
  type DefinitionPin,
  type Definitions,
  type ToolDefinition,
} from "./definitions.ts";
import type { AgentManifest } from "./manifest.ts";
import type { SourceAnswer } from "./reconcile.ts";

/** The definitions of the declared tools that discovery read. Of a tool that a server lists twice the first counts. */
export function readDefinitions(
  manifest: AgentManifest,
  answers: readonly SourceAnswer[],
): ReadonlyMap<string, ToolDefinition> {
  const declared = refsOf(manifest);
  const read = new Map<string, ToolDefinition>();
  for (const { ref, definition } of answers.flatMap(({ discovered }) => discovered.tools ?? [])) {
    if (definition !== undefined && declared.has(ref) && !read.has(ref)) read.set(ref, definition);
  }
  return read;
}

/** What an accepted manifest pins: what was read, and what was pinned before where a source was silent. */
export function pinnedDefinitions(
  manifest: AgentManifest,
  answers: readonly SourceAnswer[],
  read: Definitions,
  previous: Definitions,
): Definitions {
  const isSilent = answers.length === 0 || answers.some(({ discovered }) => !discovered.ok);
  const pinned = new Map<string, DefinitionPin>();
  for (const ref of [...refsOf(manifest)].sort()) {
    const pin = read.get(ref) ?? (isSilent ? previous.get(ref) : undefined);
    if (pin !== undefined) pinned.set(ref, { hash: pin.hash, parts: pin.parts });
  }
  return pinned;
}

export const changedDefinitions = (previous: Definitions, now: Definitions): readonly DefinitionChange[] =>
  [...now].flatMap(([ref, pin]) => {
    const before = previous.get(ref);
    if (before === undefined || before.hash === pin.hash) return [];
    return { ref, changed: changedMembers(before.parts, pin.parts), before: before.hash, now: pin.hash };
  });

const refsOf = ({ scopes }: AgentManifest): ReadonlySet<string> =>
  new Set([...scopes.values()].flatMap(({ tools }) => tools.map(({ ref }) => ref)));
