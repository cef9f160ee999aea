import { z } from "zod";
import { accessKinds, guaranteeLevels, taints } from "./kinds.ts";
import { isMcpServerRef } from "./name-patterns.ts";
import { agentName, dataClass, scopeName, toolRef } from "./names.ts";

/** What an agent declares (docs/reference/manifest.md#the-document). */

const unique = (items: readonly string[]): boolean => new Set(items).size === items.length;

const declaredTool = z
  .strictObject({
    ref: toolRef
      .refine((ref) => !isMcpServerRef(ref), "the tool of a whole MCP server is implicit; it cannot be declared")
      .describe("The tool's name: `mcp:<server>/<tool>`, `mcp:<server>#<method>` or `http:<upstream>/<operation>`."),
    data_classes: z
      .array(dataClass)
      .min(1)
      .refine(unique, "must not repeat an element")
      .readonly()
      .describe("What the tool may be called for, as dotted paths; `finance` covers `finance.entries`."),
    access: z
      .enum(accessKinds)
      .default("read")
      .describe("Whether the tool changes something. Sorts the classes into the policy's `reads` or `writes`."),
    privileged: z
      .boolean()
      .default(false)
      .describe("A call needs a transaction token, which binds it to its exact parameters: one JSON object."),
    accepts_taint: z
      .boolean()
      .optional()
      .describe(
        "Whether a call may be made under `untrusted_external`. Without it, the opposite of `privileged` is in force.",
      ),
    result_taint: z
      .enum(taints)
      .default("trusted_internal")
      .describe("What the results count as. `untrusted_external` marks the session's chain from then on."),
    guarantee_level: z
      .enum(guaranteeLevels)
      .default("network")
      .describe(
        "What protects the tool. `full`: it verifies hop tokens itself. `connector`: a connector does. `network`: only the enforcement point. `consent_only`: nothing but the consent.",
      ),
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
    hop_budget: z
      .int()
      .min(1)
      .max(32)
      .describe("The longest chain that may pass through this agent, counted in hops from the person."),
    entry: z
      .boolean()
      .optional()
      .describe(
        "The person may delegate to this agent directly. Without it: true, unless another agent of the scope lists this one downstream.",
      ),
    tools: z
      .array(declaredTool)
      .max(10_000)
      .refine((tools) => unique(tools.map((tool) => tool.ref)), "must not declare a ref twice")
      .readonly()
      .default([])
      .describe("The tools that the agent may call."),
    downstream_agents: z
      .array(agentName)
      .refine(unique, "must not repeat an element")
      .readonly()
      .default([])
      .describe("Agents that it may delegate to; they may register later."),
  })
  .transform((scope) => ({
    hopBudget: scope.hop_budget,
    entry: scope.entry,
    tools: scope.tools,
    downstreamAgents: scope.downstream_agents,
  }));
export type AgentScope = z.output<typeof agentScope>;

const httpUrl = z.url({ protocol: /^https?$/ }).max(2048);
const mcpUrl = httpUrl.describe("The Streamable HTTP endpoint, whose tools are listed.");
const cardUrl = httpUrl.describe("The agent's base address, below which its card is read.");
const listUrl = httpUrl.describe(
  "Where the list is: `{tools: [{ref, data_classes?, privileged?, access?}], downstream_agents?}`.",
);

export const discoveryKinds = ["mcp", "a2a", "http"] as const;

const discoverySource = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("mcp").describe("An MCP server."),
    name: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,100}$/)
      .describe("The server's name in refs: `ledger` for `mcp:ledger/...`."),
    url: mcpUrl,
  }),
  z.strictObject({
    kind: z.literal("a2a").describe("An agent that speaks A2A: its skills are tools."),
    name: agentName.describe("The agent's name in refs: `writer` for `a2a:writer/...`."),
    url: cardUrl,
  }),
  z.strictObject({
    kind: z.literal("http").describe("A list of tools, such as an HTTP API serves."),
    name: z.string().min(1).max(100).optional().describe("For reports."),
    url: listUrl,
  }),
]);
export type DiscoverySource = z.output<typeof discoverySource>;

/** A record drops a `__proto__` member without a word; a scope of that name is refused instead. */
const withoutProto = z.custom<Record<string, z.input<typeof agentScope>>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !Object.hasOwn(value, "__proto__"),
  "must be an object of scopes, none named __proto__",
);

/** By name. */
export const declaredScopes = z.record(scopeName, agentScope);

/** In all scopes an agent's name is no tool ref, nor the reverse (docs/reference/conventions.md#names). */
function namesAreEitherKind({ scopes }: { readonly scopes: Readonly<Record<string, AgentScope>> }): boolean {
  const declared = Object.values(scopes);
  const agents = new Set(declared.flatMap((scope) => scope.downstreamAgents));
  return !declared.some((scope) => scope.tools.some((tool) => agents.has(tool.ref)));
}

export const agentManifest = z
  .strictObject({
    discovery: z
      .union([discoverySource, z.array(discoverySource).min(1).max(16)])
      .optional()
      .describe(
        "Where the tools' servers can be read: one source, or up to 16. Without it a person attests the manifest.",
      ),
    scopes: withoutProto
      .pipe(declaredScopes)
      .refine((scopes) => {
        const count = Object.keys(scopes).length;
        return count >= 1 && count <= 64;
      }, "must have 1-64 scopes")
      .describe("Scope name to what this agent may do under it. A scope is what a person consents to."),
  })
  .refine(namesAreEitherKind, "a name is either a tool or an agent, not both")
  .transform((manifest) => ({
    discovery: [manifest.discovery ?? []].flat() as readonly DiscoverySource[],
    scopes: new Map(Object.entries(manifest.scopes)) as ReadonlyMap<string, AgentScope>,
  }));
export type AgentManifest = z.output<typeof agentManifest>;
export type AgentManifestDocument = z.input<typeof agentManifest>;
