import { isWithin, splitDataClasses } from "./data-class.ts";
import type { DenyReason } from "./deny-reason.ts";
import type { HopRequest } from "./hop.ts";
import type { IdentityStatus } from "./identity.ts";
import type { GuaranteeLevel } from "./kinds.ts";
import { isMcpServerRef, mcpServerRef, protocolDataClass } from "./names.ts";
import { type CallerIndex, type PolicyIndex, pathKey, type ToolGrant } from "./policy-index.ts";
import { type CallEffect, type EffectiveTaint, effectiveTaint, type Marks } from "./taint.ts";

/** An emergency block on a tool, on all tools of an MCP server, on an agent, or on a scope. */
export interface Block {
  readonly kind: "tool" | "agent" | "scope";
  readonly ref: string;
}

/** What no pinned policy outlives, read at the moment of the decision. Grants are pinned by the session, denials are not. */
export interface PresentState {
  readonly session: { readonly expired: boolean; readonly revoked: boolean };
  /** By agent name; an agent that never enrolled is absent. */
  readonly identities: ReadonlyMap<string, IdentityStatus>;
  readonly identityRequired: boolean;
  /** Those in force now. */
  readonly blocks: readonly Block[];
  readonly marks: Marks;
  /**
   * Current policies of the caller's other scopes (at hop 1: of this scope's entry agents). They only tell
   * SCOPE_NOT_CONSENTED from the two reasons for a declaration that exists nowhere.
   */
  readonly otherScopes: readonly PolicyIndex[];
}

export interface VerdictFacts extends EffectiveTaint {
  /** Of the target; false where the caller does not declare it. */
  readonly privileged: boolean;
  /** Null for an agent, and for a target the caller does not declare. */
  readonly guaranteeLevel: GuaranteeLevel | null;
  /** The grant the call would use; undefined for an agent, and for a target the caller does not declare. */
  readonly tool: ToolGrant | undefined;
}

export type Verdict =
  | { readonly outcome: "allow"; readonly facts: VerdictFacts }
  | {
      readonly outcome: "deny";
      readonly reason: DenyReason;
      readonly facts: VerdictFacts;
      /** For SCOPE_NOT_CONSENTED: the scopes whose consent would admit the call. */
      readonly consentableScopes: readonly string[];
    };

interface Question {
  readonly policy: PolicyIndex;
  readonly hop: HopRequest;
  readonly present: PresentState;
  readonly caller: CallerIndex | undefined;
  readonly tool: ToolGrant | undefined;
  /** The caller declares the target in this scope. */
  readonly declared: boolean;
  /** Of the chain as a path; undefined where it is none. */
  readonly budget: number | undefined;
  readonly taint: EffectiveTaint;
}

type Check = (question: Question) => DenyReason | undefined;

/** In the order of the contract's table; the first that fails gives the reason. */
export const checkNames = [
  "session",
  "revocation",
  "identity",
  "block",
  "path",
  "hop_budget",
  "target",
  "data_class",
  "narrowing",
  "taint",
] as const;
export type CheckName = (typeof checkNames)[number];

const checkOf: Readonly<Record<CheckName, Check>> = {
  session: sessionIsLive,
  revocation: nobodyIsRevoked,
  identity: everybodyIsKnown,
  block: nothingIsBlocked,
  path: chainIsCompiled,
  hop_budget: withinBudget,
  target: targetIsDeclared,
  data_class: dataClassIsDeclared,
  narrowing: dataClassIsNarrowed,
  taint: taintIsAdmitted,
};
const checks = checkNames.map((name) => ({ name, check: checkOf[name] }));

/**
 * THE verdict: pure, synchronous, the same for `POST /v1/authorize`, the exchange's and the mint's re-decision, replay
 * and the drift gate (contract: the verdict function). A deny is a value.
 */
export function decide(policy: PolicyIndex, hop: HopRequest, present: PresentState): Verdict {
  const question = ask(policy, hop, present);
  const facts = factsOf(question);
  for (const { check } of checks) {
    const reason = check(question);
    if (reason !== undefined) {
      const consentableScopes = reason === "SCOPE_NOT_CONSENTED" ? consentable(hop, present) : [];
      return { outcome: "deny", reason, facts, consentableScopes };
    }
  }
  return { outcome: "allow", facts };
}

/**
 * Checks 1-4 alone, for a caller without a target: whether it may go on at all (renewal). The narrowing and taint of
 * `hop` play no part.
 */
export function decideStanding(policy: PolicyIndex, hop: HopRequest, present: PresentState): DenyReason | undefined {
  const question: Question = { ...ask(policy, hop, present), tool: undefined, declared: false };
  for (const { check } of checks.slice(0, 4)) {
    const reason = check(question);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** Every check with what it says by itself, for an explanation; `decide` stops at the first that fails. */
export function runChecks(policy: PolicyIndex, hop: HopRequest, present: PresentState) {
  const question = ask(policy, hop, present);
  return checks.map(({ name, check }) => ({ name, reason: check(question) }));
}

function ask(policy: PolicyIndex, hop: HopRequest, present: PresentState): Question {
  const caller = callerIndex(policy, hop);
  const tool = hop.targetKind === "tool" ? caller?.tools.get(hop.target) : undefined;
  const declared = hop.targetKind === "tool" ? tool !== undefined : (caller?.downstream.has(hop.target) ?? false);
  const budget = policy.budgets.get(pathKey(hop.chain));
  return { policy, hop, present, caller, tool, declared, budget, taint: effectiveTaint(hop, present.marks) };
}

const factsOf = ({ tool, taint }: Question): VerdictFacts => ({
  taint: taint.taint,
  source: taint.source,
  privileged: tool?.privileged ?? false,
  guaranteeLevel: tool?.guaranteeLevel ?? null,
  tool,
});

/** What the caller declares; undefined for one that the policy does not know. */
export const callerIndex = (policy: PolicyIndex, hop: Pick<HopRequest, "chain">): CallerIndex | undefined => {
  const caller = hop.chain.at(-1);
  return caller === undefined ? policy.human : policy.agents.get(caller);
};

function sessionIsLive({ present }: Question): DenyReason | undefined {
  if (present.session.expired) return "SESSION_EXPIRED";
  return present.session.revoked ? "SESSION_REVOKED" : undefined;
}

/** The target counts only where the caller declares it, so that nobody learns who is revoked or blocked by asking. */
const declaredTargetAgent = ({ hop, declared }: Question): string | undefined =>
  declared && hop.targetKind === "agent" ? hop.target : undefined;

function anyInvolved(question: Question, status: IdentityStatus): boolean {
  const { identities } = question.present;
  if (identities.size === 0) return false;
  const target = declaredTargetAgent(question);
  return (
    question.hop.chain.some((agent) => identities.get(agent) === status) ||
    (target !== undefined && identities.get(target) === status)
  );
}

function nobodyIsRevoked(question: Question): DenyReason | undefined {
  return anyInvolved(question, "revoked") ? "AGENT_REVOKED" : undefined;
}

function everybodyIsKnown(question: Question): DenyReason | undefined {
  if (anyInvolved(question, "quarantined")) return "AGENT_QUARANTINED";
  const caller = question.hop.chain.at(-1);
  if (!question.present.identityRequired || caller === undefined) return undefined;
  return question.present.identities.get(caller) === "enrolled" ? undefined : "IDENTITY_REQUIRED";
}

function nothingIsBlocked(question: Question): DenyReason | undefined {
  const { policy, hop, present, declared } = question;
  if (present.blocks.length === 0) return undefined;
  const targetAgent = declaredTargetAgent(question);
  const covered = present.blocks.some(({ kind, ref }) => {
    if (kind === "scope") return ref === policy.scope;
    if (kind === "agent") return hop.chain.includes(ref) || ref === targetAgent;
    return declared && hop.targetKind === "tool" && (ref === hop.target || ref === mcpServerRef(hop.target));
  });
  return covered ? "TARGET_BLOCKED" : undefined;
}

/** Compiled paths are closed under prefixes, so being a prefix of one is being one; no chain, a prefix of any there is. */
function chainIsCompiled({ policy, hop, budget }: Question): DenyReason | undefined {
  const isPrefix = hop.chain.length === 0 ? policy.budgets.size > 0 : budget !== undefined;
  return isPrefix && hop.chain.length === hop.hop - 1 ? undefined : "PATH_NOT_DECLARED";
}

function withinBudget({ policy, hop, declared, budget }: Question): DenyReason | undefined {
  if (hop.hop > (budget ?? policy.policy.document.hop_budget)) return "HOP_BUDGET_EXCEEDED";
  if (hop.targetKind === "tool" || !declared || policy.budgets.has(pathKey([...hop.chain, hop.target])))
    return undefined;
  const target = policy.agents.get(hop.target);
  const isCycle = hop.chain.includes(hop.target);
  return target !== undefined && !isCycle && hop.hop > target.hopBudget ? "HOP_BUDGET_EXCEEDED" : "PATH_NOT_DECLARED";
}

function targetIsDeclared({ hop, present, declared }: Question): DenyReason | undefined {
  if (declared) return undefined;
  return present.otherScopes.some((other) => ask(other, hop, present).declared)
    ? "SCOPE_NOT_CONSENTED"
    : "TARGET_NOT_DECLARED";
}

function dataClassIsDeclared(question: Question): DenyReason | undefined {
  if (declaresDataClass(question)) return undefined;
  const { hop, present } = question;
  const elsewhere = present.otherScopes.some((other) => {
    const there = ask(other, hop, present);
    return there.declared && declaresDataClass(there);
  });
  return elsewhere ? "SCOPE_NOT_CONSENTED" : "DATA_CLASS_NOT_DECLARED";
}

/** A tool is asked for one class; an agent for one or several, each within what it or its downstream agents declare. */
function declaresDataClass({ policy, hop, tool }: Question): boolean {
  const asked = splitDataClasses(hop.dataClass);
  // A list would lie within the first of its classes as text, and carry the others along.
  if (hop.targetKind === "tool")
    return tool !== undefined && asked.length === 1 && isWithin(hop.dataClass, tool.dataClasses);
  const reachable = policy.agents.get(hop.target)?.reachableClasses ?? [];
  return asked.every((name) => isWithin(name, reachable));
}

function dataClassIsNarrowed({ hop }: Question): DenyReason | undefined {
  const { narrowedTo } = hop;
  if (narrowedTo === undefined || isProtocolCall(hop)) return undefined;
  const within = splitDataClasses(hop.dataClass).every((name) => isWithin(name, narrowedTo));
  return within ? undefined : "DATA_CLASS_WIDENED";
}

/** Session housekeeping of an MCP server carries no data, so its class lies within every narrowed scope. */
const isProtocolCall = (hop: HopRequest): boolean =>
  hop.targetKind === "tool" && hop.dataClass === protocolDataClass && isMcpServerRef(hop.target);

function taintIsAdmitted({ tool, taint }: Question): DenyReason | undefined {
  return taint.taint === "untrusted_external" && tool !== undefined && !tool.acceptsTaint ? "TAINT_BLOCKED" : undefined;
}

const reachability: readonly Check[] = [chainIsCompiled, withinBudget, targetIsDeclared, dataClassIsDeclared];

/** Scopes that would admit this chain as far as declarations go; each is asked by itself, without its neighbours. */
function consentable(hop: HopRequest, present: PresentState): readonly string[] {
  const alone = { ...present, otherScopes: [] };
  return present.otherScopes
    .filter((other) => {
      const question = ask(other, hop, alone);
      return reachability.every((check) => check(question) === undefined);
    })
    .map((other) => other.scope)
    .sort((a, b) => (a < b ? -1 : 1));
}

/**
 * What the call leaves behind in the session. It goes out when it was allowed, and also when a deny is only observed;
 * there an undeclared target counts as untrusted (contract: the verdict function, "Effective taint").
 */
export function callEffect(policy: PolicyIndex, hop: HopRequest, verdict: Verdict, enforced: boolean): CallEffect {
  if (verdict.outcome === "deny" && enforced) return { kind: "none" };
  const caller = callerIndex(policy, hop);
  if (hop.targetKind === "agent" && caller?.downstream.has(hop.target)) return { kind: "delegation" };
  const { tool } = verdict.facts;
  return { kind: "results", taint: tool?.resultTaint ?? "untrusted_external" };
}
