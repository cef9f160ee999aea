import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  ListToolsResultSchema,
  McpError,
  type ServerCapabilities,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import type { Discovered, DiscoveredTool, DiscoverySource } from "@svc/core";
import { DiscoveryFault, faultBehind, refusalOf } from "./fault.ts";

const maxPages = 10;

/**
 * Lists the tools of a Streamable HTTP MCP server (docs/reference/manifest.md#discovery-sources). The manifest names the
 * server: its own name is not trusted.
 * @param tools collects what is read, page by page
 */
export async function discoverMcp(
  source: Extract<DiscoverySource, { kind: "mcp" }>,
  fetch: typeof globalThis.fetch,
  tools: DiscoveredTool[],
): Promise<Discovered> {
  const transport = new StreamableHTTPClientTransport(new URL(source.url), { fetch: requestsOnly(fetch) });
  const client = new Client({ name: "agent-authorization-service", version: "1" });
  try {
    // The SDK's own class misses its own interface under exactOptionalPropertyTypes.
    await client.connect(transport as Transport).catch((cause: unknown) => {
      throw isOfVersion(cause) ? new DiscoveryFault("protocol", { cause }) : cause;
    });
    const capabilities = client.getServerCapabilities() ?? {};
    if (capabilities.tools !== undefined) {
      for await (const page of listTools(client)) tools.push(...page.map((tool) => toDiscovered(source.name, tool)));
    }
    tools.push(...methodsOf(capabilities).map((method) => ({ ref: `mcp:${source.name}#${method}` })));
    await transport.terminateSession();
    return { ok: true, tools };
  } finally {
    await client.close();
  }
}

/** The server refused `initialize`, or the SDK the version that it answered. */
const isOfVersion = (error: unknown): boolean =>
  faultBehind(error) === undefined &&
  (error instanceof McpError || (error instanceof Error && error.message.includes("protocol version")));

/** Opens no stream for server messages, and takes a refusal as final. */
const requestsOnly =
  (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
  async (input, init) => {
    if (init?.method === "GET") return new Response(null, { status: 405 });
    const response = await fetch(input, init);
    if (init?.method === "POST" && !response.ok) throw new DiscoveryFault(refusalOf(response.status));
    return response;
  };

/** The client's own `listTools` would compile every schema of an untrusted server. */
async function* listTools(client: Client): AsyncGenerator<readonly Tool[]> {
  let cursor: string | undefined;
  for (let pages = 0; pages < maxPages; pages++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: "tools/list", params }, ListToolsResultSchema);
    yield answer.tools;
    cursor = answer.nextCursor;
    if (cursor === undefined) return;
  }
  throw new DiscoveryFault("too_many_pages");
}

const toDiscovered = (server: string, { name, annotations }: Tool): DiscoveredTool => ({
  ref: `mcp:${server}/${name}`,
  privileged: annotations?.destructiveHint === true ? true : undefined,
  access: annotations?.readOnlyHint === true ? "read" : undefined,
});

/** Each other method of a capability is a tool too. */
const methodsOf = ({ resources, prompts, completions, logging }: ServerCapabilities): readonly string[] => [
  ...(resources ? ["resources/list", "resources/templates/list", "resources/read"] : []),
  ...(resources?.subscribe ? ["resources/subscribe", "resources/unsubscribe"] : []),
  ...(prompts ? ["prompts/list", "prompts/get"] : []),
  ...(completions ? ["completion/complete"] : []),
  ...(logging ? ["logging/setLevel"] : []),
];
