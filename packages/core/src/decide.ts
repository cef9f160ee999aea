import { isToolClass, isWithin, splitDataClasses } from "./data-class.ts";
import { type CheckName, checkKinds, checkNames, type DenyReason } from "./deny-reason.ts";
import type { HopRequest } from "./hop.ts";
import type { BlockKind, GuaranteeLevel, IdentityStatus } from "./kinds.ts";
import { entryAgents, isInGoodStanding, lendersOf, type PresentDenials } from "./lenders.ts";
import { isMcpServerRef, mcpServerRef, protocolDataClass } from "./name-patterns.ts";
import { type CallerIndex, type PolicyIndex, pathKey, type ToolGrant } from "./policy-index.ts";
import { type CallEffect, type CallEffects, type EffectiveTaint, effectiveTaint, type Marks } from "./taint.ts";

/** An emergency block on a tool, on all tools of an MCP server, on an agent, or on a scope. */
export interface Block {
  readonly kind: BlockKind;
  readonly ref: string;
}

/** Read at the moment of the decision: grants are pinned by the session, denials are not. */
export interface PresentState extends PresentDenials {
  readonly session: { readonly expired: boolean; readonly revoked: boolean };
  readonly identityRequired: boolean;
  readonly blocks: readonly Block[];
  readonly marks: Marks;
  /**
   * Current policies of the caller's other scopes (at hop 1: of this scope's entry agents). They only distinguish
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

interface CheckInput {
  readonly policy: PolicyIndex;
  readonly hop: HopRequest;
  readonly present: PresentState;
  readonly caller: CallerIndex | undefined;
  readonly tool: ToolGrant | undefined;
  /** The caller declares the target in this scope. */
  readonly declared: boolean;
  /** Those through which the human calls: while one is in good standing, they deny nothing. */
  readonly lenders: readonly string[];
  /** Of the chain as a path; undefined where it is none. */
  readonly budget: number | undefined;
  readonly taint: EffectiveTaint;
}

type Check = (input: CheckInput) => DenyReason | undefined;

const checkOf: Readonly<Record<CheckName, Check>> = {
  session: sessionIsLive,
  revocation: noAgentIsRevoked,
  identity: agentsAreEnrolled,
  block: nothingIsBlocked,
  path: chainIsCompiled,
  hop_budget: withinBudget,
  target: targetIsDeclared,
  data_class: dataClassIsDeclared,
  narrowing: dataClassIsNarrowed,
  taint: taintIsAdmitted,
};
const checks = checkNames.map((name) => ({ name, check: checkOf[name] }));
const callerChecks = checks.filter(({ name }) => checkKinds[name] === "caller");

/**
 * THE verdict: pure, synchronous, the same for `POST /v1/authorize`, the exchange's and the mint's re-decision, replay
 * and the drift gate (docs/reference/decision.md#the-ten-checks). A deny is a value.
 */
export function decide(policy: PolicyIndex, hop: HopRequest, present: PresentState): Verdict {
  const input = checkInput(policy, hop, present);
  const facts = factsOf(input);
  for (const { check } of checks) {
    const reason = check(input);
    if (reason !== undefined) {
      const consentableScopes = reason === "SCOPE_NOT_CONSENTED" ? consentable(hop, present) : [];
      return { outcome: "deny", reason, facts, consentableScopes };
    }
  }
  return { outcome: "allow", facts };
}

/**
 * The caller's checks alone, for renewal, which has no target: the human calls through any entry agent. The narrowing and
 * taint of `hop` play no part.
 */
export function decideCaller(policy: PolicyIndex, hop: HopRequest, present: PresentState): DenyReason | undefined {
  const lenders = hop.chain.length === 0 ? entryAgents(policy) : [];
  const input: CheckInput = { ...checkInput(policy, hop, present), tool: undefined, declared: false, lenders };
  for (const { check } of callerChecks) {
    const reason = check(input);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** Every check by itself, for an explanation; `decide` stops at the first that fails. */
export function runChecks(policy: PolicyIndex, hop: HopRequest, present: PresentState) {
  const input = checkInput(policy, hop, present);
  return checks.map(({ name, check }) => ({ name, reason: check(input) }));
}

function checkInput(policy: PolicyIndex, hop: HopRequest, present: PresentState): CheckInput {
  const caller = callerIndex(policy, hop);
  const tool = hop.targetKind === "tool" ? caller?.tools.get(hop.target) : undefined;
  const declared = hop.targetKind === "tool" ? tool !== undefined : (caller?.downstream.has(hop.target) ?? false);
  const budget = policy.budgets.get(pathKey(hop.chain));
  const isDenied = present.identities.size > 0 || present.blocks.length > 0;
  const lenders = isDenied ? lendersOf(policy, hop) : [];
  return { policy, hop, present, caller, tool, declared, lenders, budget, taint: effectiveTaint(hop, present.marks) };
}

const factsOf = ({ tool, taint }: CheckInput): VerdictFacts => ({
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

function sessionIsLive({ present }: CheckInput): DenyReason | undefined {
  if (present.session.expired) return "SESSION_EXPIRED";
  return present.session.revoked ? "SESSION_REVOKED" : undefined;
}

/** The target counts only where the caller declares it, so that a caller cannot probe who is revoked or blocked. */
const declaredTargetAgent = ({ hop, declared }: CheckInput): string | undefined =>
  declared && hop.targetKind === "agent" ? hop.target : undefined;

/** An agent of the chain, the target agent, or a lender where none is in good standing. */
function anyInvolved(input: CheckInput, isDenied: (agent: string) => boolean): boolean {
  const { hop, lenders, present } = input;
  const target = declaredTargetAgent(input);
  return (
    hop.chain.some(isDenied) ||
    (target !== undefined && isDenied(target)) ||
    (lenders.some(isDenied) && !lenders.some((agent) => isInGoodStanding(agent, present)))
  );
}

const anyHasStatus = (input: CheckInput, status: IdentityStatus): boolean =>
  input.present.identities.size > 0 && anyInvolved(input, (agent) => input.present.identities.get(agent) === status);

function noAgentIsRevoked(input: CheckInput): DenyReason | undefined {
  return anyHasStatus(input, "revoked") ? "AGENT_REVOKED" : undefined;
}

function agentsAreEnrolled(input: CheckInput): DenyReason | undefined {
  if (anyHasStatus(input, "quarantined")) return "AGENT_QUARANTINED";
  const caller = input.hop.chain.at(-1);
  if (!input.present.identityRequired || caller === undefined) return undefined;
  return input.present.identities.get(caller) === "enrolled" ? undefined : "IDENTITY_REQUIRED";
}

function nothingIsBlocked(input: CheckInput): DenyReason | undefined {
  const { policy, hop, present, declared } = input;
  if (present.blocks.length === 0) return undefined;
  const covered = present.blocks.some(({ kind, ref }) => {
    if (kind === "scope") return ref === policy.scope;
    if (kind === "agent") return anyInvolved(input, (agent) => agent === ref);
    return declared && hop.targetKind === "tool" && (ref === hop.target || ref === mcpServerRef(hop.target));
  });
  return covered ? "TARGET_BLOCKED" : undefined;
}

/** Compiled paths are closed under prefixes, so being a prefix of one is being one; no chain, a prefix of any there is. */
function chainIsCompiled({ policy, hop, budget }: CheckInput): DenyReason | undefined {
  const isPrefix = hop.chain.length === 0 ? policy.budgets.size > 0 : budget !== undefined;
  return isPrefix && hop.chain.length === hop.hop - 1 ? undefined : "PATH_NOT_DECLARED";
}

function withinBudget({ policy, hop, declared, budget }: CheckInput): DenyReason | undefined {
  if (hop.hop > (budget ?? policy.policy.document.hop_budget)) return "HOP_BUDGET_EXCEEDED";
  if (hop.targetKind === "tool" || !declared || policy.budgets.has(pathKey([...hop.chain, hop.target])))
    return undefined;
  const target = policy.agents.get(hop.target);
  const isCycle = hop.chain.includes(hop.target);
  return target !== undefined && !isCycle && hop.hop > target.hopBudget ? "HOP_BUDGET_EXCEEDED" : "PATH_NOT_DECLARED";
}

function targetIsDeclared({ hop, present, declared }: CheckInput): DenyReason | undefined {
  if (declared) return undefined;
  return present.otherScopes.some((other) => checkInput(other, hop, present).declared)
    ? "SCOPE_NOT_CONSENTED"
    : "TARGET_NOT_DECLARED";
}

function dataClassIsDeclared(input: CheckInput): DenyReason | undefined {
  if (declaresDataClass(input)) return undefined;
  const { hop, present } = input;
  const elsewhere = present.otherScopes.some((other) => {
    const there = checkInput(other, hop, present);
    return there.declared && declaresDataClass(there);
  });
  return elsewhere ? "SCOPE_NOT_CONSENTED" : "DATA_CLASS_NOT_DECLARED";
}

/** A tool takes one class; an agent one or several, each within what it or its downstream agents declare. */
function declaresDataClass({ policy, hop, tool }: CheckInput): boolean {
  if (hop.targetKind === "tool") return tool !== undefined && isToolClass(hop.dataClass, tool.dataClasses);
  const reachable = policy.agents.get(hop.target)?.reachableClasses ?? [];
  return splitDataClasses(hop.dataClass).every((name) => isWithin(name, reachable));
}

function dataClassIsNarrowed({ hop }: CheckInput): DenyReason | undefined {
  const { narrowedTo } = hop;
  if (narrowedTo === undefined || isProtocolCall(hop)) return undefined;
  const within = splitDataClasses(hop.dataClass).every((name) => isWithin(name, narrowedTo));
  return within ? undefined : "DATA_CLASS_WIDENED";
}

/** Session housekeeping of an MCP server carries no data, so its class is within every narrowed scope. */
const isProtocolCall = (hop: HopRequest): boolean =>
  hop.targetKind === "tool" && hop.dataClass === protocolDataClass && isMcpServerRef(hop.target);

function taintIsAdmitted({ tool, taint }: CheckInput): DenyReason | undefined {
  return taint.taint === "untrusted_external" && tool !== undefined && !tool.acceptsTaint ? "TAINT_BLOCKED" : undefined;
}

const reachability: readonly Check[] = [chainIsCompiled, withinBudget, targetIsDeclared, dataClassIsDeclared];

/** Scopes that would admit this chain as far as declarations go; each is checked by itself. */
function consentable(hop: HopRequest, present: PresentState): readonly string[] {
  const alone = { ...present, otherScopes: [] };
  return present.otherScopes
    .filter((other) => {
      const input = checkInput(other, hop, alone);
      return reachability.every((check) => check(input) === undefined);
    })
    .map((other) => other.scope)
    .sort((a, b) => (a < b ? -1 : 1));
}

const noEffect: CallEffect = { kind: "none" };

/** What the call leaves in the session, in both views of its marks. */
export function callEffects(policy: PolicyIndex, hop: HopRequest, verdict: Verdict, enforced: boolean): CallEffects {
  const observed = callEffect(policy, hop, verdict, enforced);
  return { enforced: verdict.outcome === "allow" ? observed : noEffect, observed };
}

/**
 * What the call leaves in the session. It is made when it was allowed, and also when a deny is only observed; there an
 * undeclared target counts as untrusted (docs/reference/decision.md#effective-taint).
 */
export function callEffect(policy: PolicyIndex, hop: HopRequest, verdict: Verdict, enforced: boolean): CallEffect {
  if (verdict.outcome === "deny" && enforced) return noEffect;
  const caller = callerIndex(policy, hop);
  if (hop.targetKind === "agent" && caller?.downstream.has(hop.target)) return { kind: "delegation" };
  const { tool } = verdict.facts;
  return { kind: "results", taint: tool?.resultTaint ?? "untrusted_external" };
}
