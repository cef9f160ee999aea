import { splitDataClasses } from "./data-class.ts";
import { type Block, callerIndex } from "./decide.ts";
import type { DecisionRecord } from "./decision-record.ts";
import { callerOf, type HopRequest } from "./hop.ts";
import type { IdentityStatus } from "./identity.ts";
import type { ChainMember, TargetKind } from "./kinds.ts";
import { type PolicyIndex, pathKey } from "./policy-index.ts";
import { presentOf } from "./recorded-present.ts";
import type { Taint } from "./taint-level.ts";

/** The input of each check, as it was recorded. */
export interface CheckFacts {
  readonly session: { readonly expired: boolean; readonly revoked: boolean };
  /** Agents of the chain, and the target where it is an agent that the caller declares. */
  readonly revocation: { readonly agents: readonly string[]; readonly revoked: readonly string[] };
  readonly identity: { readonly required: boolean; readonly statuses: Readonly<Record<string, IdentityStatus>> };
  readonly block: { readonly blocks: readonly Block[] };
  readonly path: { readonly chain: readonly string[] };
  /** `budget`: the highest hop allowed. */
  readonly hop_budget: { readonly hop: number; readonly budget: number };
  /** `scopes`: whose consent would have admitted the call. A null caller is the human. */
  readonly target: {
    readonly caller: ChainMember;
    readonly target: string;
    readonly kind: TargetKind;
    readonly declared: boolean;
    readonly scopes: readonly string[];
  };
  /** `declared`: for the tool, or by the agent and those downstream of it. */
  readonly data_class: { readonly asked: readonly string[]; readonly declared: readonly string[] };
  /** `within`: what the subject token was narrowed to; null for a root grant, and where its record is missing. */
  readonly narrowing: { readonly asked: readonly string[]; readonly within: readonly string[] | null };
  /** `accepted`: whether the target takes calls under taint; null where the caller does not declare it. */
  readonly taint: { readonly taint: Taint; readonly source: string | null; readonly accepted: boolean | null };
}

export function factsOf(
  policy: PolicyIndex,
  hop: HopRequest,
  { present, taint, taintSource }: DecisionRecord,
): CheckFacts {
  const caller = callerIndex(policy, hop);
  const tool = hop.targetKind === "tool" ? caller?.tools.get(hop.target) : undefined;
  const isDelegation = hop.targetKind === "agent" && (caller?.downstream.has(hop.target) ?? false);
  const declared = tool !== undefined || isDelegation;
  const involved = isDelegation ? [...hop.chain, hop.target] : hop.chain;
  const { identities = {}, blocks = [], scopes = [] } = present ?? {};
  const statusOf = (agent: string): IdentityStatus => (Object.hasOwn(identities, agent) && identities[agent]) || "none";
  const asked = splitDataClasses(hop.dataClass);
  return {
    session: presentOf(present).session,
    revocation: { agents: involved, revoked: involved.filter((agent) => statusOf(agent) === "revoked") },
    identity: {
      required: present?.required ?? false,
      statuses: Object.fromEntries(involved.map((agent) => [agent, statusOf(agent)])),
    },
    block: { blocks },
    path: { chain: hop.chain },
    hop_budget: { hop: hop.hop, budget: budgetOf(policy, hop, isDelegation) },
    target: { caller: callerOf(hop), target: hop.target, kind: hop.targetKind, declared, scopes },
    data_class: { asked, declared: tool?.dataClasses ?? reachableClasses(policy, hop) },
    narrowing: { asked, within: hop.narrowedTo ?? null },
    taint: { taint, source: taintSource, accepted: isDelegation || (tool?.acceptsTaint ?? null) },
  };
}

/** Of the chain; for a delegation at most the target's own budget. */
function budgetOf({ budgets, policy, agents }: PolicyIndex, { chain, target }: HopRequest, isDelegation: boolean) {
  const budget = budgets.get(pathKey(chain)) ?? policy.document.hop_budget;
  return isDelegation ? Math.min(budget, agents.get(target)?.hopBudget ?? budget) : budget;
}

const reachableClasses = ({ agents }: PolicyIndex, { target, targetKind }: HopRequest): readonly string[] =>
  targetKind === "agent" ? (agents.get(target)?.reachableClasses ?? []) : [];
