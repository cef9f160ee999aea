import type { DefinitionPin, Definitions } from "./definitions.ts";
import { type GuaranteeLevel, guaranteeLevels, highestTaint } from "./kinds.ts";
import type { AgentScope, DeclaredTool } from "./manifest.ts";
import type { PolicyDocument } from "./policy.ts";

/** One agent's latest accepted declaration under the scope that is compiled. */
export interface ScopeDeclaration {
  readonly agent: string;
  readonly manifestVersion: number;
  readonly declared: AgentScope;
  readonly definitions?: Definitions;
}

export type Compilation =
  | { readonly ok: true; readonly document: PolicyDocument }
  | { readonly ok: false; readonly branchingAgents: readonly string[] };

const maxPaths = 10_000;

/** By code unit, so that the bytes do not depend on a locale. */
const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const sortedUnique = (names: Iterable<string>): string[] => [...new Set(names)].sort(byCodeUnit);

/**
 * Composes the manifests that touch one scope into its policy (docs/reference/manifest.md#the-compiled-policy). Pure;
 * no order of `declarations` changes the result. Over 10,000 paths it names the agents that branch instead.
 */
export function compile(scope: string, declarations: readonly ScopeDeclaration[]): Compilation {
  const sorted = [...declarations].sort((a, b) => byCodeUnit(a.agent, b.agent));
  const byAgent = new Map(sorted.map((declaration) => [declaration.agent, declaration.declared]));
  const entries = entryAgents(sorted);
  const paths = delegationPaths(byAgent, entries);
  if (paths === undefined) return { ok: false, branchingAgents: branchingAgents(byAgent) };
  const tools = sorted.flatMap(({ declared }) => declared.tools);
  const document: PolicyDocument = {
    scope,
    tools: mergeTools(tools),
    data_classes: {
      reads: sortedUnique(classesOf(tools, "read")),
      writes: sortedUnique(classesOf(tools, "write")),
    },
    downstream_agents: sortedUnique(sorted.flatMap(({ declared }) => declared.downstreamAgents)),
    paths,
    hop_budget: paths.reduce((highest, path) => Math.max(highest, path.effective_hop_budget), 0),
    agents: Object.fromEntries(
      sorted.map(({ agent, manifestVersion, declared, definitions }) => [
        agent,
        {
          manifest_version: manifestVersion,
          hop_budget: declared.hopBudget,
          entry: entries.has(agent),
          tools: declared.tools
            .map(({ ref, dataClasses }) => declaredTool(ref, sortedUnique(dataClasses), definitions?.get(ref)))
            .sort((a, b) => byCodeUnit(a.ref, b.ref)),
          downstream_agents: sortedUnique(declared.downstreamAgents),
        },
      ]),
    ),
  };
  return { ok: true, document };
}

/** A tool without a definition has no member for one, so that policies of before have equal bytes. */
const declaredTool = (ref: string, data_classes: readonly string[], pin: DefinitionPin | undefined) => ({
  ref,
  data_classes,
  ...(pin && { definition_hash: pin.hash, definition_parts: pin.parts }),
});

const classesOf = (tools: readonly DeclaredTool[], access: "read" | "write"): string[] =>
  tools.filter((tool) => tool.access === access).flatMap((tool) => tool.dataClasses);

/** Entry unless declared otherwise, or unless another agent of the scope lists it downstream. */
function entryAgents(declarations: readonly ScopeDeclaration[]): ReadonlySet<string> {
  const listedByAnother = new Set(
    declarations.flatMap(({ agent, declared }) => declared.downstreamAgents.filter((name) => name !== agent)),
  );
  return new Set(
    declarations
      .filter(({ agent, declared }) => declared.entry ?? !listedByAnother.has(agent))
      .map(({ agent }) => agent),
  );
}

type Path = PolicyDocument["paths"][number];

/**
 * Every simple path from an entry agent that is no longer than its own effective budget. A longer path has at most
 * the budget of its prefix, so a branch that overruns is not followed. Undefined over the limit.
 */
function delegationPaths(agents: ReadonlyMap<string, AgentScope>, entries: ReadonlySet<string>) {
  const found: Path[] = [];
  const known = knownDownstream(agents);
  const walk = (path: readonly string[], budget: number): boolean => {
    if (path.length > budget) return true;
    if (found.length === maxPaths) return false;
    found.push({ path, effective_hop_budget: budget });
    const downstream = known.get(path[path.length - 1] ?? "") ?? [];
    return downstream.every(
      ({ name, hopBudget }) => path.includes(name) || walk([...path, name], Math.min(budget, hopBudget)),
    );
  };
  const whole = [...entries].every((name) => walk([name], agents.get(name)?.hopBudget ?? 0));
  return whole ? found : undefined;
}

/** Who delegates to whom. Names that declare nothing here, maybe thousands, are left out once, not on every path. */
const knownDownstream = (agents: ReadonlyMap<string, AgentScope>) =>
  new Map(
    [...agents].map(([agent, { downstreamAgents }]) => [
      agent,
      sortedUnique(downstreamAgents).flatMap((name) => {
        const next = agents.get(name);
        return next === undefined ? [] : { name, hopBudget: next.hopBudget };
      }),
    ]),
  );

const branchingAgents = (agents: ReadonlyMap<string, AgentScope>): readonly string[] =>
  [...agents]
    .filter(([, { downstreamAgents }]) => downstreamAgents.filter((name) => agents.has(name)).length > 1)
    .map(([name]) => name);

type PolicyTool = PolicyDocument["tools"][number];

/** Where several agents declare one ref, the strictest of their facts holds for all. */
function mergeTools(tools: readonly DeclaredTool[]): readonly PolicyTool[] {
  const merged = new Map<string, PolicyTool>();
  for (const tool of tools) merged.set(tool.ref, stricter(toPolicyTool(tool), merged.get(tool.ref)));
  return [...merged.values()].sort((a, b) => byCodeUnit(a.ref, b.ref));
}

const toPolicyTool = (tool: DeclaredTool): PolicyTool => ({
  ref: tool.ref,
  data_classes: sortedUnique(tool.dataClasses),
  privileged: tool.privileged,
  accepts_taint: tool.acceptsTaint,
  result_taint: tool.resultTaint,
  guarantee_level: tool.guaranteeLevel,
});

const stricter = (a: PolicyTool, b: PolicyTool = a): PolicyTool => ({
  ref: a.ref,
  data_classes: sortedUnique([...a.data_classes, ...b.data_classes]),
  privileged: a.privileged || b.privileged,
  accepts_taint: a.accepts_taint && b.accepts_taint,
  result_taint: highestTaint(a.result_taint, b.result_taint),
  guarantee_level: weakest(a.guarantee_level, b.guarantee_level),
});

/** A promise is as good as its weakest declaration. */
export const weakest = (a: GuaranteeLevel, b: GuaranteeLevel): GuaranteeLevel =>
  guaranteeLevels.indexOf(a) > guaranteeLevels.indexOf(b) ? a : b;
