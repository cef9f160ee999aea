import { z } from "zod";
import { guaranteeLevels, taints } from "./kinds.ts";

/**
 * The compiled policy of one scope: a versioned, immutable graph of what agents may do under it. A stored row of an
 * older schema version blocks consent until its manifest is resubmitted (docs/reference/conventions.md#versions).
 */
export const policySchemaVersion = 1;

const sortedNames = z.array(z.string()).readonly();

const policyTool = z.strictObject({
  ref: z.string(),
  data_classes: sortedNames,
  privileged: z.boolean(),
  accepts_taint: z.boolean(),
  result_taint: z.enum(taints),
  guarantee_level: z.enum(guaranteeLevels),
});

const policyAgent = z.strictObject({
  manifest_version: z.int(),
  hop_budget: z.int(),
  entry: z.boolean(),
  tools: z
    .array(
      z.strictObject({
        ref: z.string(),
        data_classes: sortedNames,
        definition_hash: z.string().optional(),
        definition_parts: z.string().optional(),
      }),
    )
    .readonly(),
  downstream_agents: sortedNames,
});

/** What is stored (docs/reference/manifest.md#the-compiled-policy); `agents` is internal. */
const policyDocument = z.strictObject({
  scope: z.string(),
  tools: z.array(policyTool).readonly(),
  data_classes: z.strictObject({ reads: sortedNames, writes: sortedNames }),
  downstream_agents: sortedNames,
  paths: z.array(z.strictObject({ path: sortedNames, effective_hop_budget: z.int() })).readonly(),
  hop_budget: z.int(),
  agents: z.record(z.string(), policyAgent),
});
export type PolicyDocument = z.infer<typeof policyDocument>;

export interface CompiledPolicy {
  readonly scope: string;
  readonly version: number;
  readonly document: PolicyDocument;
}

/** Equal graphs are equal bytes: the compiler sorts, and members are always written in one order. */
export const encodePolicyDocument = (document: PolicyDocument): string => JSON.stringify(document);

export const decodePolicyDocument = (text: string): PolicyDocument => policyDocument.parse(JSON.parse(text));

/** Same grants from other manifest versions: such a recompilation makes no new policy version. */
export const grantsTheSame = (a: PolicyDocument, b: PolicyDocument): boolean =>
  encodePolicyDocument(withoutSources(a)) === encodePolicyDocument(withoutSources(b));

const withoutSources = (document: PolicyDocument): PolicyDocument => ({
  ...document,
  agents: Object.fromEntries(
    Object.entries(document.agents).map(([name, agent]) => [name, { ...agent, manifest_version: 0 }]),
  ),
});

/** Nothing can be done under it: a consent to such a scope is refused. */
export const grantsNothing = (document: PolicyDocument): boolean => document.paths.length === 0;

/** What consenting to the scope grants (docs/reference/manifest.md#scope-catalog): the policy without its paths. */
export const toCatalog = ({ scope, version, document }: CompiledPolicy) => ({
  scope,
  version,
  tools: document.tools.map(({ ref, data_classes, privileged }) => ({ ref, data_classes, privileged })),
  data_classes: document.data_classes,
  entry_agents: Object.keys(document.agents)
    .filter((agent) => document.agents[agent]?.entry)
    .sort(),
  downstream_agents: document.downstream_agents,
  hop_budget: document.hop_budget,
});
