import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import express from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { admissionOf, createVerifier, mcpExpressAdmission, mcpFetchAdmission } from "../src/index.ts";
import { callHeaders, issuer, jwks } from "./support/tokens.ts";

const declared = {
  server: "files",
  dataClass: "docs",
  tools: { write_file: "docs.drafts", "#resources/list": "docs" },
};
const options = () => ({
  verifier: createVerifier({ issuer, audience: "mcp:files", jwks, identityView: "off" }),
  ...declared,
});

function newServer(): McpServer {
  const server = new McpServer({ name: "anything", version: "1" });
  for (const name of ["read_file", "write_file"]) {
    const inputSchema = { path: z.string() };
    server.registerTool(name, { inputSchema }, ({ path }) => ({
      content: [{ type: "text", text: `${name} ${path}` }],
    }));
  }
  return server;
}

/** What an enforcement point would attach to each message: the token of exactly this call. */
const scopes: Record<string, string> = { "mcp:files": "protocol", "mcp:files/write_file": "docs.drafts" };
interface Message {
  readonly method?: string;
  readonly params?: { readonly name?: string };
}
function targetOf(method: string, text: string | undefined): string {
  const message: Message = method === "POST" && text ? JSON.parse(text) : {};
  if (message.method === "tools/call") return `mcp:files/${message.params?.name}`;
  const isOfSession =
    message.method === undefined || /^(initialize|ping|tools\/list|notifications\/.*)$/.test(message.method);
  return isOfSession ? "mcp:files" : `mcp:files#${message.method}`;
}

type Attach = (audience: string, body: string) => Promise<Record<string, string>>;
const unprivileged: Attach = (audience) => callHeaders({ audience, scope: scopes[audience] ?? "docs" });

async function connect(send: typeof fetch, url: string, attach: Attach = unprivileged): Promise<Client> {
  const client = new Client({ name: "agent", version: "1" });
  const guarded: typeof fetch = async (input, init) => {
    const body = typeof init?.body === "string" ? init.body : undefined;
    const headers = new Headers(init?.headers);
    const attached = await attach(targetOf(init?.method ?? "GET", body), body ?? "");
    for (const [name, value] of Object.entries(attached)) headers.set(name, value);
    return send(input, { ...init, headers });
  };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: guarded }));
  onTestFinished(() => client.close());
  return client;
}

async function behindFetch(attach?: Attach): Promise<Client> {
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() });
  await newServer().connect(transport);
  const handle = mcpFetchAdmission(options(), (request) => transport.handleRequest(request));
  return connect((input, init) => handle(new Request(input, init)), "http://files.test/mcp", attach);
}

async function behindExpress(attach?: Attach): Promise<Client> {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() });
  await newServer().connect(transport);
  const app = express();
  app.use(express.json());
  app.all("/mcp", mcpExpressAdmission(options()), (req, res) => {
    expect(admissionOf(req)?.caller).toBe("planner");
    return transport.handleRequest(req, res, req.body);
  });
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return connect(fetch, `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, attach);
}

describe.each([
  ["fetch", behindFetch],
  ["express", behindExpress],
])("a real MCP client and server, %s", (_name, start) => {
  test("session, list and calls are admitted with their own tokens", async () => {
    const client = await start();
    expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(["read_file", "write_file"]);
    const result = await client.callTool({ name: "write_file", arguments: { path: "a" } });
    expect(result.content).toEqual([{ type: "text", text: "write_file a" }]);
  });

  test("a call with another tool's token is refused without ending the session", async () => {
    const client = await start((audience, body) =>
      audience === "mcp:files/write_file"
        ? callHeaders({ audience, scope: "docs.other" })
        : unprivileged(audience, body),
    );
    await expect(client.callTool({ name: "write_file", arguments: { path: "a" } })).rejects.toMatchObject({
      code: -32_010,
      data: { code: "data_class" },
    });
    expect(await client.ping()).toEqual({});
  });

  test("a privileged call is bound to its whole message and admitted once", async () => {
    let reused: Record<string, string> | undefined;
    const client = await start(async (audience, body) => {
      if (audience !== "mcp:files/read_file") return unprivileged(audience, body);
      reused ??= await callHeaders({ audience, scope: "docs", privileged: true }, body);
      return reused;
    });
    const read = (path: string) => client.callTool({ name: "read_file", arguments: { path } });
    expect((await read("a")).content).toEqual([{ type: "text", text: "read_file a" }]);
    await expect(read("a")).rejects.toMatchObject({ data: { code: "params_mismatch" } });
  });
});

describe("the target is read from the message", () => {
  const handle = mcpFetchAdmission(options(), (_request, admission) => Response.json({ audience: admission.audience }));
  const ask = async (method: string, body: string | undefined, audience: string, scope: string) => {
    const headers = { ...(await callHeaders({ audience, scope })), "content-type": "application/json" };
    const response = await handle(
      new Request("http://files.test/mcp", { method, headers, ...(body !== undefined && { body }) }),
    );
    return { status: response.status, body: await response.json() };
  };
  const message = (more: object) => JSON.stringify({ jsonrpc: "2.0", ...more });

  test.each([
    ["GET", undefined, "mcp:files", "protocol"],
    ["DELETE", undefined, "mcp:files", "protocol"],
    ["POST", message({ id: 1, method: "tools/list" }), "mcp:files", "protocol"],
    ["POST", message({ method: "notifications/initialized" }), "mcp:files", "protocol"],
    ["POST", message({ id: 1, result: {} }), "mcp:files", "protocol"],
    ["POST", message({ id: 1, method: "tools/call", params: { name: "x" } }), "mcp:files/x", "docs"],
    [
      "POST",
      message({ id: 1, method: "tools/call", params: { name: "write_file" } }),
      "mcp:files/write_file",
      "docs.drafts",
    ],
    ["POST", message({ id: 1, method: "resources/list" }), "mcp:files#resources/list", "docs"],
  ])("%s %s is %s", async (method, body, audience, scope) => {
    expect(await ask(method, body, audience, scope)).toEqual({ status: 200, body: { audience } });
  });

  test.each([
    ["a batch", `[${message({ id: 1, method: "ping" })}]`],
    ["no JSON", "{"],
    ["no JSON-RPC", '{"id":1}'],
    ["a method twice", '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}'],
    ["a name twice", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}'],
    ["a tool without a name", message({ id: 1, method: "tools/call" })],
    ["a tool no reference could name", message({ id: 1, method: "tools/call", params: { name: "a b" } })],
    ["nothing", ""],
  ])("%s is a 400", async (_name, body) => {
    expect(await ask("POST", body, "mcp:files", "protocol")).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_request" } },
    });
  });

  test("a method without a data class is refused with the id of the request", async () => {
    const answer = await ask("POST", message({ id: "x", method: "prompts/get" }), "mcp:files#prompts/get", "docs");
    expect(answer).toMatchObject({
      status: 200,
      body: { jsonrpc: "2.0", id: "x", error: { code: -32_010, data: { code: "data_class" } } },
    });
  });

  test("a tool named like a method does not get the method's data class", async () => {
    const call = message({ id: 1, method: "tools/call", params: { name: "#resources/list" } });
    expect(await ask("POST", call, "mcp:files/#resources/list", "docs")).toMatchObject({
      status: 200,
      body: { audience: "mcp:files/#resources/list" },
    });
  });

  test("without a valid token the response is an HTTP 401, and for a notification an HTTP error", async () => {
    const call = message({ id: 1, method: "tools/call", params: { name: "x" } });
    expect((await ask("POST", call, "mcp:files/other", "docs")).status).toBe(401);
    expect((await ask("POST", message({ method: "notifications/initialized" }), "mcp:files", "docs")).status).toBe(403);
  });
});
