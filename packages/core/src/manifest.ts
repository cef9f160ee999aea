import { z } from "zod";
import { accessKinds, guaranteeLevels, taints } from "./kinds.ts";
import { agentName, dataClass, isMcpServerRef, scopeName, toolRef } from "./names.ts";

/** What an agent declares (docs/reference/manifest.md#the-document). */

const unique = (items: readonly string[]): boolean => new Set(items).size === items.length;

const declaredTool = z
  .strictObject({
    ref: toolRef.refine(
      (ref) => !isMcpServerRef(ref),
      "the tool of a whole MCP server is implicit; it cannot be declared",
    ),
    data_classes: z.array(dataClass).min(1).refine(unique, "must not repeat an element").readonly(),
    access: z.enum(accessKinds).default("read"),
    privileged: z.boolean().default(false),
    accepts_taint: z.boolean().optional(),
    result_taint: z.enum(taints).default("trusted_internal"),
    guarantee_level: z.enum(guaranteeLevels).default("network"),
  })
  .transform((tool) => ({
    ref: tool.ref,
    dataClasses: tool.data_classes,
    access: tool.access,
    privileged: tool.privileged,
    acceptsTaint: tool.accepts_taint ?? !tool.privileged,
    resultTaint: tool.result_taint,
    guaranteeLevel: tool.guarantee_level,
  }));
export type DeclaredTool = z.output<typeof declaredTool>;

const agentScope = z
  .strictObject({
    hop_budget: z.int().min(1).max(32),
    entry: z.boolean().optional(),
    tools: z
      .array(declaredTool)
      .max(10_000)
      .refine((tools) => unique(tools.map((tool) => tool.ref)), "must not declare a ref twice")
      .readonly()
      .default([]),
    downstream_agents: z.array(agentName).refine(unique, "must not repeat an element").readonly().default([]),
  })
  .transform((scope) => ({
    hopBudget: scope.hop_budget,
    entry: scope.entry,
    tools: scope.tools,
    downstreamAgents: scope.downstream_agents,
  }));
export type AgentScope = z.output<typeof agentScope>;

const httpUrl = z.url({ protocol: /^https?$/ }).max(2048);

export const discoveryKinds = ["mcp", "a2a", "http"] as const;

const discoverySource = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("mcp"), name: z.string().regex(/^[A-Za-z0-9._-]{1,100}$/), url: httpUrl }),
  z.strictObject({ kind: z.literal("a2a"), name: agentName, url: httpUrl }),
  z.strictObject({ kind: z.literal("http"), name: z.string().min(1).max(100).optional(), url: httpUrl }),
]);
export type DiscoverySource = z.output<typeof discoverySource>;

/** A record drops a `__proto__` member without a word; a scope of that name is refused instead. */
const withoutProto = z.custom<Record<string, z.input<typeof agentScope>>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !Object.hasOwn(value, "__proto__"),
  "must be an object of scopes, none named __proto__",
);

/** In all scopes an agent's name is no tool ref, nor the reverse (docs/reference/conventions.md#names). */
function namesAreEitherKind({ scopes }: { readonly scopes: Readonly<Record<string, AgentScope>> }): boolean {
  const declared = Object.values(scopes);
  const agents = new Set(declared.flatMap((scope) => scope.downstreamAgents));
  return !declared.some((scope) => scope.tools.some((tool) => agents.has(tool.ref)));
}

export const agentManifest = z
  .strictObject({
    discovery: z.union([discoverySource, z.array(discoverySource).min(1).max(16)]).optional(),
    scopes: withoutProto.pipe(z.record(scopeName, agentScope)).refine((scopes) => {
      const count = Object.keys(scopes).length;
      return count >= 1 && count <= 64;
    }, "must have 1-64 scopes"),
  })
  .refine(namesAreEitherKind, "a name is either a tool or an agent, not both")
  .transform((manifest) => ({
    discovery: [manifest.discovery ?? []].flat() as readonly DiscoverySource[],
    scopes: new Map(Object.entries(manifest.scopes)) as ReadonlyMap<string, AgentScope>,
  }));
export type AgentManifest = z.output<typeof agentManifest>;
export type AgentManifestDocument = z.input<typeof agentManifest>;
