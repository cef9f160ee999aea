import { weakest } from "./compile.ts";
import { type GuaranteeLevel, highestTaint, type Taint } from "./kinds.ts";
import { mcpServerRef, protocolDataClass } from "./name-patterns.ts";
import type { CompiledPolicy, PolicyDocument } from "./policy.ts";

/** A compiled policy laid out for the verdict function: every question is one look-up. Immutable, so cached by version. */
export interface PolicyIndex {
  readonly scope: string;
  readonly version: number;
  readonly policy: CompiledPolicy;
  readonly agents: ReadonlyMap<string, AgentIndex>;
  /** What the human may do: delegate to entry agents, call what these declare. */
  readonly human: CallerIndex;
  /** Effective hop budget by the agent names of the path, joined with a space. */
  readonly budgets: ReadonlyMap<string, number>;
}

/** What one caller declares in this scope. */
export interface CallerIndex {
  readonly tools: ReadonlyMap<string, ToolGrant>;
  /** Names it may delegate to. */
  readonly downstream: ReadonlySet<string>;
}

export interface AgentIndex extends CallerIndex {
  readonly hopBudget: number;
  /** Data classes that it or, transitively, its downstream agents declare: what may be delegated to it. */
  readonly reachableClasses: readonly string[];
}

/** A tool as one caller may use it: its own data classes, the scope's merged facts. */
export interface ToolGrant {
  readonly dataClasses: readonly string[];
  readonly privileged: boolean;
  readonly acceptsTaint: boolean;
  readonly resultTaint: Taint;
  readonly guaranteeLevel: GuaranteeLevel;
  /** As the caller's manifest was accepted with it; of several entry agents the first by name counts. */
  readonly definitionHash?: string | undefined;
  readonly definitionParts?: string | undefined;
}

export const pathKey = (path: readonly string[]): string => path.join(" ");

export function indexPolicy(policy: CompiledPolicy): PolicyIndex {
  const { document } = policy;
  const facts = new Map(document.tools.map((tool) => [tool.ref, tool]));
  const declared = new Map(Object.entries(document.agents));
  const agents = new Map<string, AgentIndex>();
  for (const [name, agent] of declared) {
    agents.set(name, {
      tools: grants(agent.tools, facts),
      downstream: new Set(agent.downstream_agents),
      hopBudget: agent.hop_budget,
      reachableClasses: reachableClasses(name, declared),
    });
  }
  const entries = [...declared].filter(([, agent]) => agent.entry).map(([name]) => name);
  return {
    scope: policy.scope,
    version: policy.version,
    policy,
    agents,
    human: { tools: entryTools(entries, agents), downstream: new Set(entries) },
    budgets: new Map(document.paths.map(({ path, effective_hop_budget }) => [pathKey(path), effective_hop_budget])),
  };
}

type PolicyAgent = PolicyDocument["agents"][string];
type ToolFacts = PolicyDocument["tools"][number];

function grants(declared: PolicyAgent["tools"], facts: ReadonlyMap<string, ToolFacts>): Map<string, ToolGrant> {
  const tools = new Map<string, ToolGrant>();
  for (const { ref, data_classes, definition_hash, definition_parts } of declared) {
    const fact = facts.get(ref);
    if (fact === undefined) throw new Error("a compiled policy lists the facts of every tool an agent declares");
    const grant = {
      dataClasses: data_classes,
      privileged: fact.privileged,
      acceptsTaint: fact.accepts_taint,
      resultTaint: fact.result_taint,
      guaranteeLevel: fact.guarantee_level,
      definitionHash: definition_hash,
      definitionParts: definition_parts,
    };
    tools.set(ref, grant);
    const server = mcpServerRef(ref);
    if (server !== undefined) tools.set(server, protocolGrant(grant, tools.get(server)));
  }
  return tools;
}

/** The implicit tool of an MCP server: unprivileged, its results as tainted as the worst of the agent's tools there. */
const protocolGrant = (of: ToolGrant, known: ToolGrant = of): ToolGrant => ({
  dataClasses: [protocolDataClass],
  privileged: false,
  acceptsTaint: true,
  resultTaint: highestTaint(of.resultTaint, known.resultTaint),
  guaranteeLevel: weakest(of.guaranteeLevel, known.guaranteeLevel),
});

function entryTools(entries: readonly string[], agents: ReadonlyMap<string, AgentIndex>): Map<string, ToolGrant> {
  const tools = new Map<string, ToolGrant>();
  for (const name of entries) {
    for (const [ref, grant] of agents.get(name)?.tools ?? []) {
      const known = tools.get(ref);
      tools.set(ref, known === undefined ? grant : either(known, grant));
    }
  }
  return tools;
}

const either = (a: ToolGrant, b: ToolGrant): ToolGrant => ({
  dataClasses: [...new Set([...a.dataClasses, ...b.dataClasses])],
  privileged: a.privileged || b.privileged,
  acceptsTaint: a.acceptsTaint && b.acceptsTaint,
  resultTaint: highestTaint(a.resultTaint, b.resultTaint),
  guaranteeLevel: weakest(a.guaranteeLevel, b.guaranteeLevel),
  ...definitionOf(a.definitionHash === undefined ? b : a),
});

const definitionOf = ({ definitionHash, definitionParts }: ToolGrant) => ({ definitionHash, definitionParts });

function reachableClasses(start: string, declared: ReadonlyMap<string, PolicyAgent>): readonly string[] {
  const seen = new Set([start]);
  const classes = new Set<string>();
  for (const name of seen) {
    const agent = declared.get(name);
    for (const tool of agent?.tools ?? []) for (const dataClass of tool.data_classes) classes.add(dataClass);
    for (const next of agent?.downstream_agents ?? []) seen.add(next);
  }
  return [...classes];
}
