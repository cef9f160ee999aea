import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { capabilityMethods } from "@svc/core";
import { z } from "zod";
import { type Fault, notTried } from "../fault.ts";
import { shown } from "../output.ts";
import { valuesOf } from "./server-variables.ts";
import type { Source } from "./source.ts";
import { groupTransport } from "./stdio-transport.ts";

/** What a server says of a tool; absent members say nothing. */
export interface Hints {
  readonly readOnly: boolean | undefined;
  readonly destructive: boolean | undefined;
  readonly openWorld: boolean | undefined;
}

export interface ListedTool {
  readonly name: string;
  readonly hints: Hints;
}

export interface AskedServer {
  readonly tools: readonly ListedTool[];
  /** Other methods that its capabilities offer. */
  readonly methods: readonly string[];
  /** The revision of MCP that was spoken. */
  readonly version: string;
}

/** As discovery's (docs/reference/manifest.md#discovery-sources). */
const maxPages = 10;
/** Of a server over HTTP; `npx -y` may have to install its package first. */
const timeoutMs = { mcp: 10_000, stdio: 120_000 };

type McpSource = Extract<Source, { kind: "mcp" | "stdio" }>;

/**
 * What an MCP server of any revision offers, by the official client, as the control plane's discovery asks it.
 * @param credentials values of `Authorization` by origin @throws {Fault} that says what to do
 */
export async function askMcp(source: McpSource, credentials: ReadonlyMap<string, string>): Promise<AskedServer> {
  if (source.kind === "mcp") return askOverHttp(source, credentials);
  const { name, command } = source;
  const env = await valuesOf(name, source.env);
  try {
    return await askOverStdio({ command, env }, "auto");
  } catch {
    // Some servers of earlier revisions end at a request that they do not know.
    return askOverStdio({ command, env }, "legacy").catch((cause: unknown) => {
      throw notTried(
        `${name}: the server ${shown(cause instanceof Error ? cause.message : "gave no answer")}`,
        `Run it by hand to see why: ${command.join(" ")}\nIt gets the usual variables and those of --env ${name}=VARIABLE=@FILE alone.`,
        cause,
      );
    });
  }
}

interface Started {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

async function askOverStdio({ command, env }: Started, mode: "auto" | "legacy"): Promise<AskedServer> {
  const transport = groupTransport(command, env);
  try {
    return await ask(transport, mode, timeoutMs.stdio);
  } catch (cause) {
    throw new Error(transport.ending() ?? "does not complete MCP's handshake", { cause });
  } finally {
    await transport.close();
  }
}

async function askOverHttp(
  { name, url }: Extract<Source, { kind: "mcp" }>,
  credentials: ReadonlyMap<string, string>,
): Promise<AskedServer> {
  let fault: Fault | undefined;
  const refuse = (what: string, advice: string, cause?: unknown) => {
    fault ??= notTried(`${name}: ${url} ${what}`, advice, cause);
    return fault;
  };
  const checked = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    if (init.method === "GET") return new Response(null, { status: 405 });
    const headers = new Headers(init.headers);
    const credential = credentials.get(new URL(input).origin);
    if (credential !== undefined) headers.set("authorization", credential);
    const response = await fetch(input, { ...init, headers, redirect: "manual" }).catch((cause: unknown) => {
      throw refuse("cannot be reached", "Start the server, or correct its URL.", cause);
    });
    const { status } = response;
    if (status === 401 || status === 403) throw refuse(`requires a credential (${status})`, credentialAdvice);
    // An earlier revision refuses what opens a later one.
    const isQuestion = headers.get("mcp-method") === "server/discover" && status >= 400 && status < 500;
    if (response.ok || isQuestion || init.method !== "POST") return response;
    throw refuse(`answers ${status}: it is no MCP endpoint`, endpointAdvice);
  };
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: checked as typeof fetch });
  try {
    return await ask(transport, "auto", timeoutMs.mcp);
  } catch (cause) {
    const why = shown(cause instanceof Error ? cause.message.replaceAll(/\s+/g, " ").slice(0, 300) : "");
    throw fault ?? refuse(`does not speak MCP: ${why}`, endpointAdvice, cause);
  }
}

const credentialAdvice =
  'Export SVC_DISCOVERY_CREDENTIALS with a JSON object of its origin and the header value, {"https://host": "Bearer ..."}; the control plane reads the same setting.';
const endpointAdvice = "Give the URL of its Streamable HTTP endpoint, which often ends in /mcp.";

async function ask(transport: Transport, mode: "auto" | "legacy", requestMs: number): Promise<AskedServer> {
  const client = new Client({ name: "svc-init", version: "1" }, { versionNegotiation: { mode } });
  try {
    await client.connect(transport, { timeout: requestMs });
    const capabilities = client.getServerCapabilities() ?? {};
    const tools = capabilities.tools === undefined ? [] : await listTools(client, requestMs);
    const version = client.getNegotiatedProtocolVersion() ?? "of an unknown revision";
    return { tools, methods: capabilityMethods(capabilities), version };
  } finally {
    if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession().catch(() => {});
    await client.close();
  }
}

/** A hint of another type says nothing. */
const hint = z.boolean().optional().catch(undefined);
const listing = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      annotations: z
        .object({ readOnlyHint: hint, destructiveHint: hint, openWorldHint: hint })
        .catch({ readOnlyHint: undefined, destructiveHint: undefined, openWorldHint: undefined })
        .optional(),
    }),
  ),
  nextCursor: z.string().optional(),
});

async function listTools(client: Client, timeout: number): Promise<readonly ListedTool[]> {
  const tools: ListedTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: "tools/list", params }, listing, { timeout });
    tools.push(...answer.tools.map(({ name, annotations }) => ({ name, hints: hintsOf(annotations) })));
    cursor = answer.nextCursor;
    if (cursor === undefined) return tools;
  }
  throw new Error(`lists its tools on more than ${maxPages} pages`);
}

const hintsOf = (annotations: z.output<typeof listing>["tools"][number]["annotations"]): Hints => ({
  readOnly: annotations?.readOnlyHint,
  destructive: annotations?.destructiveHint,
  openWorld: annotations?.openWorldHint,
});
