import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { bindParams, toJwks, verificationKeyOf } from "@svc/tokens";
import { createVerifier, mcpFetchAdmission } from "@svc/verifier";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { issuer, issuerKey } from "../../hop/test/support/tokens.ts";
import { authorizedMcpTransport, type McpFetch } from "../src/index.ts";
import { errorOf, fakeSession } from "./support/fake-client.ts";

function newServer(): McpServer {
  const server = new McpServer({ name: "anything", version: "1" });
  for (const name of ["read_file", "write_file"]) {
    server.registerTool(name, { inputSchema: { path: z.string() } }, ({ path }) => ({
      content: [{ type: "text", text: `${name} ${path}` }],
    }));
  }
  return server;
}

interface Received {
  readonly method: string;
  readonly authorization: string | null;
  readonly transaction: string | null;
  readonly body: string;
}

const declared = { server: "files", dataClass: "docs", tools: { write_file: "docs.drafts" } };

/** An MCP server that admits only calls which the verifier admits, and a client that takes a hop for each message. */
async function connected() {
  const { svc, plane, session } = await fakeSession();
  plane.targets.set("mcp:files/write_file", { privileged: true });
  const received: Received[] = [];
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() });
  await newServer().connect(transport);
  const verifier = createVerifier({
    issuer,
    audience: "mcp:files",
    jwks: toJwks([await verificationKeyOf(issuerKey)]),
    identityView: "off",
  });
  const guarded = mcpFetchAdmission({ verifier, ...declared }, (request) => transport.handleRequest(request));
  const fetch: McpFetch = async (url, init) => {
    const request = new Request(url, init);
    received.push({
      method: request.method,
      authorization: request.headers.get("authorization"),
      transaction: request.headers.get("txn-token"),
      body: String(init?.body ?? ""),
    });
    return guarded(request);
  };
  const mcp = new Client({ name: "agent", version: "1" });
  onTestFinished(() => mcp.close());
  const client = authorizedMcpTransport(
    { client: svc, context: session.context(), fetch, ...declared },
    (authorized) => new StreamableHTTPClientTransport(new URL("https://files.test/mcp"), { fetch: authorized }),
  );
  await mcp.connect(client);
  return { mcp, plane, session, received, client };
}

const call = (mcp: Client, name: string) => mcp.callTool({ name, arguments: { path: "a.txt" } });
const payloadOf = (token: string | null | undefined) =>
  JSON.parse(Buffer.from((token ?? "").split(".")[1] ?? "", "base64url").toString());

test("a tool call is admitted by a server that verifies each message", async () => {
  const { mcp } = await connected();
  expect(await call(mcp, "read_file")).toMatchObject({ content: [{ text: "read_file a.txt" }] });
  expect((await mcp.listTools()).tools).toHaveLength(2);
});

test("every message carries its own token, and none the context's", async () => {
  const { mcp, received, session } = await connected();
  await call(mcp, "read_file");
  const bearers = received.map(({ authorization }) => authorization);
  expect(new Set(bearers).size).toBe(bearers.length);
  expect(bearers).not.toContain(`Bearer ${session.rootGrant}`);
  const audiences = new Set(bearers.map((bearer) => payloadOf(bearer).aud));
  expect(audiences).toEqual(new Set(["mcp:files", "mcp:files/read_file"]));
});

test("a message takes one hop", async () => {
  const { mcp, plane, received } = await connected();
  await call(mcp, "read_file");
  expect(plane.asked.filter((path) => path === "/v1/token/exchange")).toHaveLength(received.length);
});

test("a privileged call is bound to the whole message", async () => {
  const { mcp, received } = await connected();
  expect(await call(mcp, "write_file")).toMatchObject({ content: [{ text: "write_file a.txt" }] });
  const sent = received.find(({ transaction }) => transaction !== null);
  expect(payloadOf(sent?.transaction).tctx.params_hash).toBe(
    (bindParams(sent?.body ?? "") as { paramsHash: string }).paramsHash,
  );
  expect(payloadOf(sent?.authorization).scope).toBe("docs.drafts");
});

test("a deny is thrown, nothing is sent, and the session continues", async () => {
  const { mcp, plane, received } = await connected();
  plane.targets.set("mcp:files/read_file", { deny: "TARGET_NOT_DECLARED" });
  const error = await errorOf(call(mcp, "read_file"));
  expect(error).toMatchObject({ name: "PolicyDenied", target: "mcp:files/read_file" });
  expect(received.filter(({ body }) => body.includes("tools/call"))).toEqual([]);
  plane.targets.delete("mcp:files/read_file");
  expect(await call(mcp, "read_file")).toMatchObject({ content: [{ text: "read_file a.txt" }] });
});

test("the end of the session takes a hop of its own", async () => {
  const { received, client } = await connected();
  await client.terminateSession();
  const end = received.find(({ method }) => method === "DELETE");
  expect(payloadOf(end?.authorization)).toMatchObject({ aud: "mcp:files", scope: "protocol" });
});

describe("a transport without HTTP", () => {
  async function inMemory(tools: Record<string, string> = {}) {
    const { svc, plane, session } = await fakeSession();
    const [mine, theirs] = InMemoryTransport.createLinkedPair();
    await newServer().connect(theirs);
    const mcp = new Client({ name: "agent", version: "1" });
    onTestFinished(() => mcp.close());
    await mcp.connect(
      authorizedMcpTransport({ client: svc, context: session.context(), server: "files", tools }, () => mine),
    );
    return { mcp, plane };
  }

  test("is decided and recorded for each call", async () => {
    const { mcp, plane } = await inMemory({ read_file: "docs" });
    await call(mcp, "read_file");
    expect(plane.bodyOf("/v1/authorize")).toMatchObject({ target: "mcp:files/read_file", data_class: "docs" });
  });

  test("rejects a call without a configured data class", async () => {
    const { mcp } = await inMemory();
    expect(await errorOf(call(mcp, "read_file"))).toBeInstanceOf(TypeError);
    expect(await errorOf(mcp.listResources())).toBeInstanceOf(Error);
  });
});

test("a redirect of the server is an error, and nothing is sent after it", async () => {
  const { svc, session } = await fakeSession();
  const requests: Request[] = [];
  const fetch: McpFetch = async (url, init) => {
    const request = new Request(url, init);
    requests.push(request);
    return new Response(null, { status: 307, headers: { location: "https://elsewhere.example/mcp" } });
  };
  const mcp = new Client({ name: "agent", version: "1" });
  const transport = authorizedMcpTransport(
    { client: svc, context: session.context(), fetch, ...declared },
    (authorized) => new StreamableHTTPClientTransport(new URL("https://files.example/mcp"), { fetch: authorized }),
  );
  await expect(mcp.connect(transport)).rejects.toThrow();
  expect(requests.map(({ url, redirect }) => [new URL(url).host, redirect])).toEqual([["files.example", "manual"]]);
});
