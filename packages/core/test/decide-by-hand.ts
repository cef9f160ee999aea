import type { PresentState } from "../src/decide.ts";
import type { DenyReason } from "../src/deny-reason.ts";
import type { HopRequest } from "../src/hop.ts";
import type { PolicyDocument } from "../src/policy.ts";

/** The table of checks (docs/reference/decision.md#the-ten-checks) over the stored document: slow, without index, and written apart. */
export function decideByHand(document: PolicyDocument, hop: HopRequest, present: PresentState): DenyReason | "allow" {
  const { chain, target, targetKind } = hop;
  const others = present.otherScopes.map(({ policy }) => policy.document);
  const declared = declares(document, hop);
  const asked = hop.dataClass.split(" ");
  const involved = declared && targetKind === "agent" ? [...chain, target] : chain;
  const lenders = declared && targetKind === "tool" && chain.length === 0 ? lendersOf(document, hop) : [];
  const isDenied = (agent: string) =>
    ["revoked", "quarantined"].includes(present.identities.get(agent) ?? "") ||
    present.blocks.some(({ kind, ref }) => kind === "agent" && ref === agent);
  const denied = lenders.some((agent) => !isDenied(agent)) ? involved : [...involved, ...lenders];
  const is = (status: string) => denied.some((agent) => present.identities.get(agent) === status);

  if (present.session.expired) return "SESSION_EXPIRED";
  if (present.session.revoked) return "SESSION_REVOKED";
  if (is("revoked")) return "AGENT_REVOKED";
  if (is("quarantined")) return "AGENT_QUARANTINED";
  if (present.identityRequired && chain.length > 0 && present.identities.get(chain.at(-1) ?? "") !== "enrolled")
    return "IDENTITY_REQUIRED";
  if (
    present.blocks.some(({ kind, ref }) => {
      if (kind === "scope") return ref === document.scope;
      if (kind === "agent") return denied.includes(ref);
      return (
        declared && targetKind === "tool" && (ref === target || (/^mcp:[^/#]+$/.test(ref) && isOfServer(target, ref)))
      );
    })
  ) {
    return "TARGET_BLOCKED";
  }

  const isPrefix = document.paths.some(({ path }) => chain.every((agent, index) => path[index] === agent));
  if (!isPrefix || hop.hop !== chain.length + 1) return "PATH_NOT_DECLARED";
  if (hop.hop > budgetAlong(document, chain)) return "HOP_BUDGET_EXCEEDED";
  if (targetKind === "agent" && declared && !hasPath(document, [...chain, target])) {
    const forItsLengthAlone = agentOf(document, target) !== undefined && !chain.includes(target);
    return forItsLengthAlone ? "HOP_BUDGET_EXCEEDED" : "PATH_NOT_DECLARED";
  }
  if (!declared) return others.some((other) => declares(other, hop)) ? "SCOPE_NOT_CONSENTED" : "TARGET_NOT_DECLARED";
  if (!declaresClasses(document, hop)) {
    const elsewhere = others.some((other) => declares(other, hop) && declaresClasses(other, hop));
    return elsewhere ? "SCOPE_NOT_CONSENTED" : "DATA_CLASS_NOT_DECLARED";
  }
  const isProtocol = targetKind === "tool" && /^mcp:[^/#]+$/.test(target) && hop.dataClass === "protocol";
  const { narrowedTo } = hop;
  if (narrowedTo !== undefined && !isProtocol && !asked.every((name) => isWithinAny(name, narrowedTo)))
    return "DATA_CLASS_WIDENED";
  return isTainted(hop, present) && refusesTaint(document, hop) ? "TAINT_BLOCKED" : "allow";
}

/** By own member only: an agent may be called `constructor`. */
const agentOf = ({ agents }: PolicyDocument, name: string) => (Object.hasOwn(agents, name) ? agents[name] : undefined);

const isWithinAny = (name: string, parents: readonly string[]) =>
  parents.some((parent) => name === parent || name.startsWith(`${parent}.`));

const isOfServer = (ref: string, server: string) =>
  ref === server || ref.startsWith(`${server}/`) || ref.startsWith(`${server}#`);

const hasPath = (document: PolicyDocument, agents: readonly string[]) =>
  document.paths.some(
    ({ path }) => path.length === agents.length && agents.every((agent, index) => path[index] === agent),
  );

/** Of the human, any path's. */
const budgetAlong = (document: PolicyDocument, chain: readonly string[]) =>
  chain.length === 0
    ? document.hop_budget
    : Math.min(...chain.map((agent) => agentOf(document, agent)?.hop_budget ?? 0));

/** The agents whose declarations the caller has: its own; the human, those of the entry agents. */
const callers = (document: PolicyDocument, { chain }: HopRequest) =>
  Object.entries(document.agents)
    .filter(([name, { entry }]) => (chain.length === 0 ? entry : name === chain.at(-1)))
    .map(([, agent]) => agent);

/** At hop 1: the entry agents that declare the tool for the data class; where none does, those that declare it. */
function lendersOf(document: PolicyDocument, hop: HopRequest): readonly string[] {
  const entries = Object.entries(document.agents).filter(([, { entry }]) => entry);
  const only = (name: string) => ({
    ...document,
    agents: Object.fromEntries(entries.filter(([agent]) => agent === name)),
  });
  const declaring = entries.map(([name]) => name).filter((name) => declares(only(name), hop));
  const covering = declaring.filter((name) => declaresClasses(only(name), hop));
  return covering.length > 0 ? covering : declaring;
}

/** The data classes that the caller has a tool for; undefined where it has no such tool. */
function toolClasses(document: PolicyDocument, hop: HopRequest): readonly string[] | undefined {
  const tools = callers(document, hop).flatMap((agent) => agent.tools);
  const own = tools.filter(({ ref }) => ref === hop.target);
  if (own.length > 0) return own.flatMap(({ data_classes }) => data_classes);
  const isImplicit = /^mcp:[^/#]+$/.test(hop.target) && tools.some(({ ref }) => isOfServer(ref, hop.target));
  return isImplicit ? ["protocol"] : undefined;
}

function declares(document: PolicyDocument, hop: HopRequest): boolean {
  if (hop.targetKind === "tool") return toolClasses(document, hop) !== undefined;
  if (hop.chain.length === 0)
    return Object.entries(document.agents).some(([name, { entry }]) => name === hop.target && entry);
  return callers(document, hop).some((agent) => agent.downstream_agents.includes(hop.target));
}

function declaresClasses(document: PolicyDocument, hop: HopRequest): boolean {
  if (hop.targetKind === "tool")
    return !hop.dataClass.includes(" ") && isWithinAny(hop.dataClass, toolClasses(document, hop) ?? []);
  const reach = (name: string, passed: readonly string[]): readonly string[] => {
    const agent = agentOf(document, name);
    if (agent === undefined || passed.includes(name)) return [];
    return [
      ...agent.tools.flatMap((tool) => tool.data_classes),
      ...agent.downstream_agents.flatMap((next) => reach(next, [...passed, name])),
    ];
  };
  const reachable = reach(hop.target, []);
  return hop.dataClass.split(" ").every((name) => isWithinAny(name, reachable));
}

const isTainted = (hop: HopRequest, { marks }: PresentState) =>
  hop.tokenTaint === "untrusted_external" ||
  hop.declaredTaint === "untrusted_external" ||
  [null, ...hop.chain].some((member) => marks.has(member));

const refusesTaint = (document: PolicyDocument, hop: HopRequest) =>
  hop.targetKind === "tool" && document.tools.some(({ ref, accepts_taint }) => ref === hop.target && !accepts_taint);
