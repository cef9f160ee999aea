import type { RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { DiscoverySource } from "@svc/core";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { answerJson, discover, factsOf, remedyOf, serve } from "./discovery-support.ts";

/** A real server: one session, responses as event streams or as plain JSON. */
async function serveMcp(server: McpServer, enableJsonResponse = false) {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => "session", enableJsonResponse });
  await server.connect(transport as Transport);
  const methods: string[] = [];
  const { url } = await serve((request, response) => {
    methods.push(request.method ?? "");
    void transport.handleRequest(request, response);
  });
  onTestFinished(() => server.close());
  return { url: `${url}/mcp`, methods };
}

/** Answers any request with this result, or with a JSON-RPC error. */
const initializing =
  (result: object | undefined): RequestListener =>
  async (request, response) => {
    const { id } = JSON.parse(await text(request));
    const answer = result
      ? { result: { capabilities: {}, serverInfo: { name: "x", version: "1" }, ...result } }
      : { error: { code: -32601, message: "Method not found" } };
    answerJson({ jsonrpc: "2.0", id, ...answer })(request, response);
  };

const mcp = (url: string): DiscoverySource => ({ kind: "mcp", name: "ledger", url });

const endlessHints: RequestListener = ({ socket }, response) => {
  const sending = setInterval(() => response.writeEarlyHints({ link: "</a>" }), 10);
  socket.once("close", () => clearInterval(sending));
};

describe("an mcp source", () => {
  const ledger = () => {
    const server = new McpServer({ name: "calls itself so", version: "1" });
    const answer = async () => ({ content: [] });
    server.registerTool("read", { annotations: { readOnlyHint: true } }, answer);
    server.registerTool(
      "post_entry",
      { annotations: { destructiveHint: true }, inputSchema: { n: z.number() } },
      answer,
    );
    server.registerTool("plain", {}, answer);
    return server;
  };

  test.each([true, false])("advertises its tools with their hints (JSON answers: %j)", async (enableJsonResponse) => {
    const { url, methods } = await serveMcp(ledger(), enableJsonResponse);
    expect(await discover(mcp(url))).toEqual({
      ok: true,
      tools: [
        { ref: "mcp:ledger/read", access: "read" },
        { ref: "mcp:ledger/post_entry", privileged: true },
        { ref: "mcp:ledger/plain" },
      ],
    });
    expect(methods).not.toContain("GET");
    expect(methods.at(-1)).toBe("DELETE");
  });

  test("reports the revision that it spoke, and its pages", async () => {
    const { url } = await serveMcp(paged(3));
    expect(await factsOf(mcp(url))).toEqual({ credentials: "none", protocolVersion: "2025-11-25", pages: 3 });
  });

  test("advertises the methods of its other capabilities", async () => {
    const server = ledger();
    server.registerResource("entries", "ledger://entries", {}, async () => ({ contents: [] }));
    server.registerPrompt("audit", {}, async () => ({ messages: [] }));
    const { url } = await serveMcp(server);
    const discovered = await discover(mcp(url));
    const refs = discovered.ok ? discovered.tools.map(({ ref }) => ref) : [];
    expect(refs).toEqual(
      expect.arrayContaining(["mcp:ledger#resources/list", "mcp:ledger#resources/read", "mcp:ledger#prompts/get"]),
    );
    expect(refs).not.toContain("mcp:ledger#resources/subscribe");
    expect(refs).not.toContain("mcp:ledger#logging/setLevel");
  });

  test("advertises also a tool whose name no manifest can declare", async () => {
    const server = ledger();
    server.server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: [{ name: "post entry", inputSchema: { type: "object" as const } }],
    }));
    const { url } = await serveMcp(server);
    expect(await discover(mcp(url))).toEqual({ ok: true, tools: [{ ref: "mcp:ledger/post entry" }] });
  });

  const paged = (pages: number) => {
    const server = ledger();
    server.server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
      const page = Number(params?.cursor ?? 0);
      const tools = [{ name: `tool-${page}`, inputSchema: { type: "object" as const } }];
      return page + 1 < pages ? { tools, nextCursor: String(page + 1) } : { tools };
    });
    return server;
  };

  test("is read for ten pages", async () => {
    const { url } = await serveMcp(paged(10));
    const discovered = await discover(mcp(url));
    expect(discovered.ok && discovered.tools.map(({ ref }) => ref)).toEqual(
      Array.from({ length: 10 }, (_, page) => `mcp:ledger/tool-${page}`),
    );
  });

  test("with more pages counts as unavailable, and what was read of it is kept", async () => {
    const { url } = await serveMcp(paged(11));
    const discovered = await discover(mcp(url));
    expect(remedyOf(discovered)).toMatch(/more than 10 pages/);
    expect(discovered.tools).toHaveLength(10);
  });

  test.each([
    ["fails on a later page", () => Promise.reject(new Error("broken"))],
    ["never sends a later page", () => new Promise<never>(() => {})],
  ])("that %s counts as unavailable, and what was read of it is kept", async (_name, later) => {
    const server = ledger();
    server.server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
      params?.cursor === undefined
        ? { tools: [{ name: "pay", inputSchema: { type: "object" as const } }], nextCursor: "2" }
        : later(),
    );
    const { url } = await serveMcp(server);
    expect(await discover(mcp(url), { timeoutMs: 1_000 })).toMatchObject({
      ok: false,
      tools: [{ ref: "mcp:ledger/pay" }],
    });
  });

  test("with a response over 1 MiB counts as unavailable", async () => {
    const server = ledger();
    server.registerTool("x".repeat(60), { description: "d".repeat(1_048_577) }, async () => ({ content: [] }));
    const { url } = await serveMcp(server);
    expect(remedyOf(await discover(mcp(url)))).toMatch(/more than 1 MiB/);
  });

  test.each<[string, RequestListener, RegExp]>([
    ["redirects", (_q, r) => r.writeHead(307, { location: "http://127.0.0.1:1/" }).end(), /redirect/],
    ["requires credentials", (_q, r) => r.writeHead(401).end(), /SVC_DISCOVERY_CREDENTIALS/],
    ["has no such path", (_q, r) => r.writeHead(404).end(), /error status/],
    ["is no MCP server", answerJson({ hello: "world" }), /something else/],
    ["speaks a later version alone", initializing({ protocolVersion: "2099-01-01" }), /protocol version/],
    ["refuses to initialize", initializing(undefined), /protocol version/],
    ["never answers", () => {}, /in time/],
    ["sends interim answers without end", endlessHints, /in time/],
  ])("that %s counts as unavailable, with a remedy", async (_name, handler, remedy) => {
    const { url } = await serve(handler);
    const timeoutMs = remedy.test("in time") ? 500 : 60_000;
    expect(remedyOf(await discover(mcp(url), { timeoutMs }))).toMatch(remedy);
  });

  test("at an internal address receives no connection", async () => {
    const { url, methods } = await serveMcp(ledger());
    expect(remedyOf(await discover(mcp(url), { allowed: [] }))).toContain("SVC_DISCOVERY_ALLOW");
    expect(methods).toEqual([]);
  });
});
