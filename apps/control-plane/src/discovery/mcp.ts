import { Client, ProtocolError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { capabilityMethods, type Discovered, type DiscoveredTool, type DiscoverySource } from "@svc/core";
import { toolDefinition } from "@svc/tokens";
import { z } from "zod";
import { DiscoveryFault, faultBehind, refusalOf } from "./fault.ts";

const maxPages = 10;

/** What is read of a source, page by page, also if it fails later. */
export interface ReadProgress {
  readonly tools: DiscoveredTool[];
  protocolVersion?: string | undefined;
  pages?: number;
}

/**
 * Lists the tools of a Streamable HTTP MCP server of any revision (docs/reference/manifest.md#discovery-sources). The
 * manifest names the server: its own name is not trusted.
 */
export async function discoverMcp(
  source: Extract<DiscoverySource, { kind: "mcp" }>,
  fetch: typeof globalThis.fetch,
  progress: ReadProgress,
): Promise<Discovered> {
  const { tools } = progress;
  const transport = new StreamableHTTPClientTransport(new URL(source.url), { fetch: requestsOnly(fetch) });
  const client = new Client(
    { name: "agent-authorization-service", version: "1" },
    // Asks for `server/discover` first. A server of an earlier revision refuses it, and gets `initialize`.
    { versionNegotiation: { mode: "auto" } },
  );
  try {
    await client.connect(transport).catch((cause: unknown) => {
      throw isOfVersion(cause) ? new DiscoveryFault("protocol", { cause }) : cause;
    });
    progress.protocolVersion = client.getNegotiatedProtocolVersion();
    const capabilities = client.getServerCapabilities() ?? {};
    if (capabilities.tools !== undefined) {
      for await (const page of listTools(client, progress)) {
        tools.push(...page.map((tool) => toDiscovered(source.name, tool)));
      }
    }
    tools.push(...capabilityMethods(capabilities).map((method) => ({ ref: `mcp:${source.name}#${method}` })));
    await transport.terminateSession();
    return { ok: true, tools };
  } finally {
    await client.close();
  }
}

/** The server refused `initialize`, or there is no version that both speak. */
const isOfVersion = (error: unknown): boolean =>
  faultBehind(error) === undefined &&
  (error instanceof ProtocolError || (error instanceof Error && error.message.includes("protocol version")));

/** Opens no stream for server messages, and takes a refusal as final, but that of a question for a later revision. */
const requestsOnly =
  (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
  async (input, init) => {
    if (init?.method === "GET") return new Response(null, { status: 405 });
    const response = await fetch(input, init);
    if (response.ok || init?.method !== "POST") return response;
    const refusal = refusalOf(response.status);
    const isQuestion = new Headers(init.headers).get("mcp-method") === "server/discover";
    if (isQuestion && refusal === "status" && response.status < 500) return response;
    throw new DiscoveryFault(refusal);
  };

const listing = z.object({ tools: z.array(z.looseObject({ name: z.string() })), nextCursor: z.string().optional() });
type ListedTool = z.output<typeof listing>["tools"][number];

const hints = z.object({ destructiveHint: z.boolean().optional(), readOnlyHint: z.boolean().optional() });

/** The client's own `listTools` would compile every schema of an untrusted server. */
async function* listTools(client: Client, progress: ReadProgress): AsyncGenerator<readonly ListedTool[]> {
  let cursor: string | undefined;
  for (let pages = 1; pages <= maxPages; pages++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: "tools/list", params }, listing);
    progress.pages = pages;
    yield answer.tools;
    cursor = answer.nextCursor;
    if (cursor === undefined) return;
  }
  throw new DiscoveryFault("too_many_pages");
}

function toDiscovered(server: string, tool: ListedTool): DiscoveredTool {
  const { name, annotations = {} } = tool;
  const { destructiveHint, readOnlyHint } = hints.parse(annotations);
  return {
    ref: `mcp:${server}/${name}`,
    privileged: destructiveHint === true ? true : undefined,
    access: readOnlyHint === true ? "read" : undefined,
    definition: toolDefinition(tool),
  };
}
