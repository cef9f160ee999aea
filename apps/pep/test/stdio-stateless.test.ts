import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import { initializing, openBridge, scripted } from "./support/stdio-bridge.ts";

const version = "2026-07-28";
const named = { "mcp-protocol-version": version };

const requestOf = (id: number | string, method: string, params: object = {}, meta: object = {}): string =>
  JSON.stringify({
    ...{ jsonrpc: "2.0", id, method },
    params: { ...params, _meta: { "io.modelcontextprotocol/protocolVersion": version, ...meta } },
  });
const tool = (id: number | string, name: string, meta: object = {}) =>
  requestOf(id, "tools/call", { name, arguments: {} }, meta);

function openStateless(command = scripted("stateless")) {
  const bridge = openBridge({ command });
  return {
    ...bridge,
    post: (session: string, body: string, headers: Readonly<Record<string, string>> = named) =>
      bridge.ask("POST", { ...bridge.of(session), ...headers }, body),
  };
}

describe("a server of 2026-07-28", () => {
  test("is called without a handshake, by one process for each session", async () => {
    const { post } = openStateless();
    const both = await Promise.all(
      ["alice", "bob"].map(async (session) => (await post(session, tool(1, "count")).answered).message),
    );
    expect(both.map(({ id, result }) => [id, result.calls])).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect((await post("alice", tool(1, "count")).answered).message.result.calls).toBe(2);
  });

  test("gets the bytes of a request", async () => {
    const body = tool("a", "received").replace('"arguments":{}', '"arguments":{"n":1.0}');
    const { message } = await openStateless().post("alice", body).answered;
    expect(message.result.line).toBe(body);
  });

  test("answers a subscription by a stream, and hears when its client disconnects", async () => {
    const { post } = openStateless();
    const stream = post("alice", requestOf(9, "subscriptions/listen"));
    await waitUntil("the acknowledgment", () => stream.text().includes("acknowledged"));
    stream.gone();
    expect((await post("alice", tool(1, "cancelled")).answered).message.result.cancelled).toEqual([9]);
  });

  test.each([
    ["the id", tool(1, "count")],
    ["the progress token", tool(2, "count", { progressToken: "p" })],
  ])("gets a second process for a request with %s of one under way", async (_what, body) => {
    const { post } = openStateless();
    post("alice", tool(1, "silent", { progressToken: "p" }));
    await waitUntil("the call", async () => (await post("alice", tool(7, "count")).answered).message.result.calls > 1);
    expect((await post("alice", body).answered).message.result.calls).toBe(1);
  });

  test("refuses a client that initializes, by its own error", async () => {
    const bridge = openStateless();
    const { status, message } = await bridge.ask("POST", bridge.of("alice"), initializing).answered;
    expect([status, message.error.code]).toEqual([200, -32601]);
  });

  test("an unknown method is 404 (MCP 2026-07-28, Streamable HTTP)", async () => {
    const { status, message } = await openStateless().post("alice", requestOf(1, "no/method")).answered;
    expect([status, message.error.code]).toEqual([404, -32601]);
  });

  test.each([
    ["no version in a header", {}],
    ["another version in the header", { "mcp-protocol-version": "2027-01-01" }],
  ])("%s is a mismatch", async (_what, headers) => {
    const { status, message } = await openStateless().post("alice", tool(1, "count"), headers).answered;
    expect([status, message.error.code]).toEqual([400, -32020]);
  });
});

describe("a server that begins with initialize", () => {
  test("refuses a stateless client, which then initializes at the same process", async () => {
    const bridge = openStateless(scripted());
    const { status, message } = await bridge.post("alice", requestOf(1, "server/discover")).answered;
    // No error by which a client would take the server for a stateless one.
    expect([status, message.error.code]).toEqual([400, -32000]);
    const client = await bridge.initialize("alice");
    expect((await client.call("count").answered).status).toBe(200);
    await bridge.connection.destroy();
    expect(bridge.log()).toMatch(/1 started/);
  });

  test("gets no call before initialize", async () => {
    const bridge = openStateless(scripted());
    await bridge.post("alice", tool(1, "count")).answered;
    expect((await bridge.ask("POST", bridge.of("alice"), tool(1, "count")).answered).status).toBe(400);
    expect((await (await bridge.initialize("alice")).call("count").answered).message.result.calls).toBe(1);
  });
});

test("a stateless client has no stream of its own: 405", async () => {
  const { ask, of } = openStateless();
  expect((await ask("GET", of("alice")).answered).status).toBe(405);
});
