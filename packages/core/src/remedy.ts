import type { CheckFacts } from "./check-facts.ts";
import { isWithin } from "./data-class.ts";
import type { CheckName, DenyReason } from "./deny-reason.ts";
import type { HopRequest } from "./hop.ts";
import { isInGoodStanding } from "./lenders.ts";
import { isMcpServerRef, protocolDataClass } from "./name-patterns.ts";
import { quoted } from "./names.ts";
import { type PolicyIndex, pathKey } from "./policy-index.ts";

export interface Denied {
  readonly reason: DenyReason;
  /** The check that gave the reason. */
  readonly check: CheckName;
  readonly policy: PolicyIndex;
  readonly hop: HopRequest;
  readonly facts: CheckFacts;
}

/** What would admit a denied call, as far as this reason goes: the change to a manifest where there is one. */
export const remedyFor = (denied: Denied): string => remedies[denied.reason](denied);

const remedies: Readonly<Record<DenyReason, (denied: Denied) => string>> = {
  SESSION_EXPIRED: () => "The session is over: ask the human to consent again.",
  SESSION_REVOKED: () =>
    "The session was revoked: the audit events show by whom and why. Then ask the human to consent again.",
  AGENT_REVOKED: (denied) =>
    lendersDenied(denied) ??
    `A revocation is final: register the workload of ${names(denied.facts.revocation.revoked)} as a new agent.`,
  AGENT_QUARANTINED: (denied) =>
    lendersDenied(denied) ?? `Enroll ${names(quarantined(denied.facts))} with an ID token of the person it belongs to.`,
  IDENTITY_REQUIRED: ({ hop }) => `Enroll ${names(hop.chain.slice(-1))}: a caller must hold an enrolled key.`,
  TARGET_BLOCKED: (denied) =>
    lendersDenied(denied) ?? `Lift the emergency block on ${blocked(denied.facts)} once its cause is gone.`,
  PATH_NOT_DECLARED: ({ policy, check, hop }) =>
    linkMissing(policy, check === "path" ? hop.chain : [...hop.chain, hop.target]),
  HOP_BUDGET_EXCEEDED: ({ policy, hop }) => budgetTooSmall(policy, [...hop.chain, hop.target], hop.hop),
  TARGET_NOT_DECLARED: targetMissing,
  SCOPE_NOT_CONSENTED: consentElsewhere,
  DATA_CLASS_NOT_DECLARED: dataClassMissing,
  DATA_CLASS_WIDENED: ({ hop, facts }) =>
    `Delegate ${hop.dataClass} to ${names(hop.chain.slice(-1))} with the hop before: ${narrowed(facts)}`,
  TAINT_BLOCKED: taintRefused,
};

const names = (list: readonly string[]): string => list.map(quoted).join(", ");

/** Grants are pinned by the session, so a change reaches only later sessions. */
const consentAgain = "Then consent again: a session keeps the policy that it pinned.";

const inManifest = (policy: PolicyIndex, agent: string): string =>
  `under scope ${quoted(policy.scope)} in the manifest of ${quoted(agent)}`;

/** The manifest that has to declare the call: the human has none, so an entry agent's. */
const inCallersManifest = ({ policy, hop }: Denied): string => {
  const caller = hop.chain.at(-1);
  return caller === undefined
    ? `under scope ${quoted(policy.scope)} in the manifest of an agent that the human may delegate to`
    : inManifest(policy, caller);
};

/** For the human's call of a tool that no agent in good standing lends: one of them is enough. */
function lendersDenied({ hop, facts }: Denied): string | undefined {
  const { lenders } = facts.revocation;
  const identities = new Map(Object.entries(facts.identity.statuses));
  const { blocks } = facts.block;
  if (lenders.length === 0 || lenders.some((agent) => isInGoodStanding(agent, { identities, blocks })))
    return undefined;
  const ways = lenders.map((agent) => {
    const status = identities.get(agent);
    const isBlocked = blocks.some(({ kind, ref }) => kind === "agent" && ref === agent);
    if (status === "revoked") return `register the workload of ${quoted(agent)}, which is revoked, as a new agent`;
    const enroll = `enroll ${quoted(agent)}, which is quarantined`;
    const lift = `lift the emergency block on ${quoted(agent)}`;
    if (status === "quarantined") return isBlocked ? `${enroll}, and ${lift}` : enroll;
    return lift;
  });
  return `The human calls ${quoted(hop.target)} through an agent that lends it, and none is in good standing. One is enough: ${ways.join("; or ")}.`;
}

const quarantined = ({ identity }: CheckFacts): readonly string[] =>
  Object.entries(identity.statuses).flatMap(([agent, status]) => (status === "quarantined" ? [agent] : []));

const blocked = ({ block }: CheckFacts): string =>
  block.blocks.map(({ kind, ref }) => `${kind} ${quoted(ref)}`).join(", ");

const narrowed = ({ narrowing }: CheckFacts): string =>
  narrowing.within === null
    ? "its token was narrowed to less."
    : `its token was narrowed to ${names(narrowing.within)}, and no later hop widens it.`;

/** The first link of the path that is not compiled, and why it is not. */
function linkMissing(policy: PolicyIndex, path: readonly string[]): string {
  const at = path.findIndex((_, index) => !policy.budgets.has(pathKey(path.slice(0, index + 1))));
  const agent = path[at];
  if (agent === undefined) return "The token's hop is not that of its chain: take a token that an exchange issued.";
  const from = path[at - 1];
  const declared = policy.agents.get(agent);
  if (declared === undefined)
    return `Declare scope ${quoted(policy.scope)} in the manifest of ${quoted(agent)}. ${consentAgain}`;
  if (from === undefined) return `Set "entry": true ${inManifest(policy, agent)}. ${consentAgain}`;
  if (path.slice(0, at).includes(agent)) {
    return `No chain passes an agent twice: let ${quoted(agent)} do it itself, before it delegates to ${quoted(from)}.`;
  }
  if (policy.agents.get(from)?.downstream.has(agent)) return budgetTooSmall(policy, path.slice(0, at + 1), at + 1);
  return `Add ${quoted(agent)} to "downstream_agents" ${inManifest(policy, from)}. ${consentAgain}`;
}

function budgetTooSmall(policy: PolicyIndex, path: readonly string[], hops: number): string {
  const short = path.filter((agent) => (policy.agents.get(agent)?.hopBudget ?? hops) < hops);
  const whose = short.length === 0 ? "of its agents" : `of ${names(short)}`;
  return `Raise "hop_budget" ${whose} under scope ${quoted(policy.scope)} to at least ${hops}. ${consentAgain}`;
}

function targetMissing(denied: Denied): string {
  const { policy, hop } = denied;
  if (hop.targetKind === "tool") return `${declareTool(denied)} ${consentAgain}`;
  const caller = hop.chain.at(-1);
  return caller === undefined
    ? linkMissing(policy, [hop.target])
    : `Add ${quoted(hop.target)} to "downstream_agents" ${inManifest(policy, caller)}. ${consentAgain}`;
}

function declareTool(denied: Denied): string {
  const { target, dataClass } = denied.hop;
  // It follows from the server's tools and cannot be declared by itself (docs/reference/manifest.md#mcp-servers).
  if (isMcpServerRef(target))
    return `Declare a tool of that server, ${quoted(`${target}/...`)}, ${inCallersManifest(denied)}.`;
  const tool = JSON.stringify({ ref: target, data_classes: [dataClass] });
  return `Add ${tool} to "tools" ${inCallersManifest(denied)}.`;
}

function consentElsewhere(denied: Denied): string {
  const { check, facts } = denied;
  const here = check === "target" ? targetMissing(denied) : dataClassMissing(denied);
  const { scopes } = facts.target;
  if (scopes.length === 0) return here;
  return `Ask the human to consent to ${scopes.map((scope) => `scope ${quoted(scope)}`).join(" or ")}. Or: ${here}`;
}

function dataClassMissing(denied: Denied): string {
  const { policy, hop, facts } = denied;
  const { asked, declared } = facts.data_class;
  if (hop.targetKind === "agent") {
    const missing = asked.filter((name) => !isWithin(name, declared));
    return `Declare ${names(missing)} for a tool of ${quoted(hop.target)}, or of an agent downstream of it, under scope ${quoted(policy.scope)}; or delegate no more than is declared. ${consentAgain}`;
  }
  if (isMcpServerRef(hop.target))
    return `Ask for data class ${quoted(protocolDataClass)}: an MCP session carries no other.`;
  if (asked.length > 1) return `Ask for one data class with each call of a tool, not for ${names(asked)} together.`;
  return `Add ${names(asked)} to "data_classes" of ${quoted(hop.target)} ${inCallersManifest(denied)}. ${consentAgain}`;
}

function taintRefused({ policy, hop, facts }: Denied): string {
  const { source } = facts.taint;
  const untouched = source === null ? "untrusted data" : quoted(source);
  const where = `under scope ${quoted(policy.scope)} in every manifest that declares it`;
  return `Set "accepts_taint": true for ${quoted(hop.target)} ${where}, or call it in a session that has not touched ${untouched}.`;
}
