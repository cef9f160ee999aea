/** The first revision of MCP whose requests stand alone: before it, a client opens a session by `initialize`. */
export const firstModernRevision = "2026-07-28";

/** Members of `_meta` (MCP 2026-07-28: Overview). */
export const mcpMeta = {
  revision: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
} as const;

/** Methods of every revision that a client needs before it can call anything. */
const sessionMethods: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "server/discover",
  "subscriptions/listen",
  "tools/list",
]);

/**
 * Whether a message belongs to the implicit tool `mcp:<server>` (docs/reference/manifest.md#mcp-servers): a method of
 * every session, a notification, or an answer to the server, which has no method.
 */
export const isSessionMessage = ({ id, method }: { id?: unknown; method?: string | undefined }): boolean =>
  method === undefined || sessionMethods.has(method) || (id === undefined && method.startsWith("notifications/"));

/** What a server says of itself that it offers, as far as it leads to methods. */
interface McpCapabilities {
  readonly resources?: { readonly subscribe?: boolean | undefined } | undefined;
  readonly prompts?: object | undefined;
  readonly completions?: object | undefined;
  readonly logging?: object | undefined;
}

/** The methods of a server's capabilities besides its tools; each is a tool too (docs/reference/manifest.md#mcp-servers). */
export const capabilityMethods = ({ resources, prompts, completions, logging }: McpCapabilities): readonly string[] => [
  ...(resources ? ["resources/list", "resources/templates/list", "resources/read"] : []),
  ...(resources?.subscribe ? ["resources/subscribe", "resources/unsubscribe"] : []),
  ...(prompts ? ["prompts/list", "prompts/get"] : []),
  ...(completions ? ["completion/complete"] : []),
  ...(logging ? ["logging/setLevel"] : []),
];
