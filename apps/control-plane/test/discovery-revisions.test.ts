import type { RequestListener } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { Server as LegacyServer } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { type CreateMcpHandlerOptions, createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import type { DiscoverySource } from "@svc/core";
import { toolDefinition } from "@svc/tokens";
import { describe, expect, onTestFinished, test } from "vitest";
import type { DiscoverySettings } from "../src/discovery/discover.ts";
import { definitionsOf, discover, factsOf, remedyOf, serve } from "./discovery-support.ts";

const newest = "2026-07-28";

/** Servers of the official SDK that speak MCP 2026-07-28, alone or beside the earlier revisions. */
interface Served extends CreateMcpHandlerOptions {
  readonly credential?: string;
  readonly pages?: number;
}

function ledger(pages: number, description?: string): McpServer {
  const server = new McpServer({ name: "calls itself so", version: "1" }, { capabilities: { tools: {}, logging: {} } });
  server.server.setRequestHandler("tools/list", ({ params }) => {
    const page = Number(params?.cursor ?? 0);
    const annotations = page === 0 ? { readOnlyHint: true, ofLater: 1 } : { destructiveHint: true };
    const tools = [{ name: `tool-${page}`, description, annotations, inputSchema: { type: "object" as const } }];
    return page + 1 < pages ? { tools, nextCursor: String(page + 1) } : { tools };
  });
  return server;
}

/** The SDK's own types miss Node's under exactOptionalPropertyTypes. */
const listenerOf = (server: () => McpServer, options?: CreateMcpHandlerOptions) =>
  toNodeHandler(createMcpHandler(server, options)) as unknown as RequestListener;

async function serveModern({ credential, pages = 1, ...options }: Served = {}) {
  const handle = listenerOf(() => ledger(pages), options);
  const requests: string[] = [];
  const { url } = await serve((request, response) => {
    requests.push([request.method, request.headers["mcp-method"]].filter(Boolean).join(" "));
    if (request.headers.authorization === credential) handle(request, response);
    else response.writeHead(401, { "www-authenticate": "Bearer" }).end();
  });
  return { url, requests, source: { kind: "mcp", name: "ledger", url: `${url}/mcp` } satisfies DiscoverySource };
}

describe("a server of MCP 2026-07-28", () => {
  const forms: readonly (readonly [string, Served])[] = [
    ["alone, answering in JSON", { legacy: "reject", responseMode: "json" }],
    ["alone, answering in event streams", { legacy: "reject", responseMode: "sse" }],
    ["beside the earlier revisions", { legacy: "stateless" }],
  ];
  test.each(forms)("advertises its tools with their hints, without initialize (%s)", async (_form, options) => {
    const { source, requests } = await serveModern({ ...options, pages: 2 });
    expect(await discover(source)).toEqual({
      ok: true,
      tools: [
        { ref: "mcp:ledger/tool-0", access: "read" },
        { ref: "mcp:ledger/tool-1", privileged: true },
        { ref: "mcp:ledger#logging/setLevel" },
      ],
    });
    expect(requests).toEqual(["POST server/discover", "POST tools/list", "POST tools/list"]);
    expect(await factsOf(source)).toEqual({ credentials: "none", protocolVersion: newest, pages: 2 });
  });

  test("is read for ten pages", async () => {
    const { source } = await serveModern({ pages: 10 });
    expect((await discover(source)).tools).toHaveLength(11);
  });

  test("with more pages counts as unavailable, and what was read of it is kept", async () => {
    const { source } = await serveModern({ pages: 11 });
    const discovered = await discover(source);
    expect(remedyOf(discovered)).toMatch(/more than 10 pages/);
    expect(discovered.tools).toHaveLength(10);
    expect(await factsOf(source)).toMatchObject({ protocolVersion: newest, pages: 10 });
  });

  test("with a response over 1 MiB counts as unavailable", async () => {
    const description = "d".repeat(1_048_577);
    const { url } = await serve(listenerOf(() => ledger(1, description)));
    expect(remedyOf(await discover({ kind: "mcp", name: "ledger", url }))).toMatch(/more than 1 MiB/);
  });

  test("at an internal address receives no connection", async () => {
    const { source, requests } = await serveModern();
    expect(remedyOf(await discover(source, { allowed: [] }))).toContain("SVC_DISCOVERY_ALLOW");
    expect(requests).toEqual([]);
  });

  test("of a later revision alone counts as unavailable, and the remedy names the versions", async () => {
    const { url } = await serve((_request, response) => {
      const data = { supported: ["2099-01-01"], requested: newest };
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32022, message: "no", data } }));
    });
    expect(remedyOf(await discover({ kind: "mcp", name: "ledger", url }))).toContain(`2024-10-07 to ${newest}`);
  });
});

test("a tool has one definition in every revision, as its server wrote it", async () => {
  const { source } = await serveModern();
  const definitions = await definitionsOf(source);
  const annotations = { readOnlyHint: true, ofLater: 1 };
  const written = { name: "tool-0", annotations, inputSchema: { type: "object" } };
  expect(definitions.get("mcp:ledger/tool-0")).toEqual(toolDefinition(written));
  const legacy = new LegacyServer({ name: "old", version: "1" }, { capabilities: { tools: {} } });
  legacy.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ ...written, icons: [] }] }) as never);
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => "session" });
  await legacy.connect(transport as Transport);
  onTestFinished(() => legacy.close());
  const { url } = await serve((request, response) => void transport.handleRequest(request, response));
  expect(await definitionsOf({ kind: "mcp", name: "ledger", url })).toEqual(
    new Map([["mcp:ledger/tool-0", toolDefinition(written)]]),
  );
});

describe("a server that requires a credential", () => {
  const required = { credential: "Bearer of-the-ledger" };
  const withCredential = (url: string, credential: string): Partial<DiscoverySettings> => ({
    credentials: new Map([[new URL(url).origin, credential]]),
  });

  test("is read with the one of its origin, which is reported", async () => {
    const { source, url } = await serveModern(required);
    const settings = withCredential(url, required.credential);
    expect(await discover(source, settings)).toMatchObject({ ok: true });
    expect(await factsOf(source, settings)).toEqual({ credentials: "sent", protocolVersion: newest, pages: 1 });
  });

  test.each([["none"], ["Bearer of-another"]])("counts as unavailable with %s, which is reported", async (sent) => {
    const { source, url, requests } = await serveModern(required);
    const settings = sent === "none" ? {} : withCredential(url, sent);
    expect(remedyOf(await discover(source, settings))).toContain("SVC_DISCOVERY_CREDENTIALS_FILE");
    expect(requests).toEqual(["POST server/discover"]);
    expect(await factsOf(source, settings)).toEqual({ credentials: "required" });
  });
});

test("a server that fails at the first question gets no other", async () => {
  let requests = 0;
  const { url } = await serve((_request, response) => {
    requests++;
    response.writeHead(503).end();
  });
  expect(remedyOf(await discover({ kind: "mcp", name: "ledger", url }))).toMatch(/error status/);
  expect(requests).toBe(1);
});
