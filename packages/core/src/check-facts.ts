import { z } from "zod";
import { splitDataClasses } from "./data-class.ts";
import { callerIndex } from "./decide.ts";
import type { DecisionRecord } from "./decision-record.ts";
import type { CheckName } from "./deny-reason.ts";
import { callerOf, type HopRequest } from "./hop.ts";
import { blockKinds, type IdentityStatus, identityStatuses, taints, targetKinds } from "./kinds.ts";
import { lendersOf } from "./lenders.ts";
import { type PolicyIndex, pathKey } from "./policy-index.ts";
import { presentOf } from "./recorded-present.ts";

const names = z.array(z.string()).readonly();

/** The input of each check, as it was recorded and as explanations show it. */
export const checkFacts = {
  session: z.object({ expired: z.boolean(), revoked: z.boolean() }),
  /**
   * `agents`: those of the chain, and the target where it is an agent that the caller declares. `lenders`: those through
   * which the human calls a tool; they deny while none is in good standing.
   */
  revocation: z.object({ agents: names, lenders: names.default([]), revoked: names }),
  identity: z.object({ required: z.boolean(), statuses: z.record(z.string(), z.enum(identityStatuses)) }),
  block: z.object({ blocks: z.array(z.object({ kind: z.enum(blockKinds), ref: z.string() })).readonly() }),
  path: z.object({ chain: names }),
  /** `budget`: the highest hop allowed. */
  hop_budget: z.object({ hop: z.int(), budget: z.int() }),
  /** A null caller is the human. */
  target: z.object({
    caller: z.string().nullable(),
    target: z.string(),
    kind: z.enum(targetKinds),
    declared: z.boolean(),
    scopes: names.meta({ description: "Whose consent would have admitted the call." }),
  }),
  /** `declared`: for the tool, or by the agent and those downstream of it. */
  data_class: z.object({ asked: names, declared: names }),
  /** `within`: what the subject token was narrowed to; null for a root grant, and where its record is missing. */
  narrowing: z.object({ asked: names, within: names.nullable() }),
  /** `accepted`: whether the target takes calls under taint; null where the caller does not declare it. */
  taint: z.object({ taint: z.enum(taints), source: z.string().nullable(), accepted: z.boolean().nullable() }),
} satisfies Record<CheckName, z.ZodType>;
export type CheckFacts = { readonly [Name in CheckName]: Readonly<z.output<(typeof checkFacts)[Name]>> };

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
  const lenders = lendersOf(policy, hop);
  const concerned = [...involved, ...lenders];
  const { identities = {}, blocks = [], scopes = [] } = present ?? {};
  const statusOf = (agent: string): IdentityStatus => (Object.hasOwn(identities, agent) && identities[agent]) || "none";
  const asked = splitDataClasses(hop.dataClass);
  return {
    session: presentOf(present).session,
    revocation: { agents: involved, lenders, revoked: concerned.filter((agent) => statusOf(agent) === "revoked") },
    identity: {
      required: present?.required ?? false,
      statuses: Object.fromEntries(concerned.map((agent) => [agent, statusOf(agent)])),
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
