import { describe, expect, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const meta = (revision = "2026-07-28") => ({
  "io.modelcontextprotocol/protocolVersion": revision,
  "io.modelcontextprotocol/clientCapabilities": {},
});

async function setup() {
  const upstream = await startedUpstream((_request, response) => {
    response.writeHead(404, { "content-type": "application/json" });
    response.end('{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"the server\'s own"}}');
  });
  const tools = { "#prompts/get": "docs", "#resources/read": "docs" };
  const entry = { name: "files", url: `${upstream.url}/mcp`, protocol: "mcp", data_class: "docs", tools };
  const running = await startedPep({ upstreams: [entry] });
  running.controlPlane.policies.set("mcp:files", {});
  running.controlPlane.policies.set("mcp:files#prompts/get", { denyReason: "TARGET_NOT_DECLARED" });
  running.controlPlane.policies.set("mcp:files#resources/read", { denyReason: "TAINT_BLOCKED" });
  running.controlPlane.policies.set("mcp:files/write", { denyReason: "TARGET_NOT_DECLARED" });
  const credentials = await running.session();
  const send = async (method: string, params: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${running.url}/files`, {
      method: "POST",
      headers: { ...credentials, "content-type": "application/json", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }),
    });
    const { id, error } = (await response.json()) as { id: unknown; error: { code: number; message: string } };
    const blocked = response.headers.get("x-svc-blocked");
    return { status: response.status, blocked, id, code: error.code, message: error.message };
  };
  return { ...running, upstream, send };
}

describe("to a client of a modern revision", () => {
  test.each([
    ["a method that the file does not name", "tasks/list", "unresolvable_call"],
    ["a method that the policy does not declare", "prompts/get", "policy"],
  ])("%s is one that the server does not have", async (_name, method, cause) => {
    const { send, upstream } = await setup();
    const answer = await send(method, { name: "x", _meta: meta() });
    expect(answer).toMatchObject({ status: 404, blocked: cause, id: 7, code: -32601 });
    expect(upstream.received).toEqual([]);
  });

  test.each([
    ["a denied tool", "tools/call", { name: "write" }],
    ["a method denied for another reason", "resources/read", { uri: "file:///a" }],
  ])("%s is denied in band", async (_name, method, params) => {
    const { send } = await setup();
    const answer = await send(method, { ...params, _meta: meta() });
    expect(answer).toMatchObject({ status: 200, blocked: "policy", id: 7, code: -32010 });
  });

  test("a method that the upstream lacks is the upstream's to refuse", async () => {
    const { send } = await setup();
    const answer = await send("server/discover", { _meta: meta() });
    expect(answer).toMatchObject({ status: 404, blocked: null, code: -32601, message: "the server's own" });
  });

  test("revisions that disagree are 400, and nothing is decided", async () => {
    const { send, controlPlane } = await setup();
    const answer = await send("tools/call", { name: "read", _meta: meta() }, { "mcp-protocol-version": "2025-11-25" });
    expect(answer).toMatchObject({ status: 400, blocked: "unresolvable_call", id: 7, code: -32020 });
    expect(controlPlane.decisions()).toEqual([]);
  });
});

test("to a client of an earlier revision an undeclared method is an error in band", async () => {
  const { send } = await setup();
  expect(await send("tasks/list", {})).toMatchObject({ status: 200, code: -32603 });
  expect(await send("prompts/get", { name: "x" })).toMatchObject({ status: 200, code: -32010 });
});

describe("the trace context of a message", () => {
  const own = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
  const other = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const traceOf = (traceparent: unknown) => String(traceparent).split("-")[1];
  const discover = (traceparent: unknown) => ({ _meta: { ...meta(), traceparent, tracestate: "a=b" } });

  test("is the parent where no header brings one, and reaches the upstream as it was sent", async () => {
    const { send, upstream } = await setup();
    await send("server/discover", discover(own));
    const [received] = upstream.received;
    expect(traceOf(received?.headers.traceparent)).toBe(traceOf(own));
    expect(received?.headers.traceparent).not.toBe(own);
    expect(received?.headers.tracestate).toBe("a=b");
    expect(JSON.parse((await received?.body) ?? "").params).toEqual(discover(own));
  });

  test("gives way to a header's", async () => {
    const { send, upstream } = await setup();
    await send("server/discover", discover(own), { traceparent: other });
    const [received] = upstream.received;
    expect(traceOf(received?.headers.traceparent)).toBe(traceOf(other));
    expect(received?.headers.tracestate).toBeUndefined();
  });

  test.each([
    ["malformed", "00-zz"],
    ["no text", 7],
  ])("that is %s starts a trace of its own", async (_name, sent) => {
    const { send, upstream } = await setup();
    await send("server/discover", discover(sent));
    expect(upstream.received[0]?.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });
});
