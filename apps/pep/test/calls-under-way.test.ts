import { once } from "node:events";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

type Handle = Parameters<typeof startedUpstream>[0];

const routes = [{ methods: ["GET", "POST"], path: "/any", target: "http:app/any", data_class: "docs" }];

async function setup(handle: Handle, mode: "enforce" | "observe" = "enforce") {
  const upstream = await startedUpstream(handle);
  const running = await startedPep({
    upstreams: [
      { name: "app", url: upstream.url, mode, routes },
      { name: "chat", url: `${upstream.url}/mcp`, mode, protocol: "mcp", data_class: "docs" },
    ],
    limits: { redecideMs: 100, bodyWaitMs: 50 },
  });
  const { policies } = running.controlPlane;
  const targets = ["http:app/any", "mcp:chat/slow", "mcp:chat"];
  const decide = (policy: object) => {
    for (const target of targets) policies.set(target, policy);
  };
  decide({});
  const session = await running.session();
  const open = (path: string, method: string, headers: object = {}): ClientRequest => {
    const request = httpRequest(`${running.url}${path}`, { method, headers: { ...session, ...headers } });
    request.on("error", () => {});
    return request;
  };
  /** Once the upstream was called and the call decided a second time. */
  const revoke = async () => {
    await waitUntil("the upstream to be called", () => upstream.received.length === 1);
    await waitUntil("a second decision", () => running.controlPlane.countOf("/v1/authorize") >= 2);
    decide({ denyReason: "AGENT_REVOKED" });
  };
  return { ...running, upstream, open, revoke };
}

const responseTo = async (request: ClientRequest): Promise<IncomingMessage> => (await once(request, "response"))[0];
const textOf = async (response: IncomingMessage) => Buffer.concat(await response.toArray()).toString();
const toolCall = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "slow" } });
const json = { "content-type": "application/json" };
const silent: Handle = () => {};

/** Pieces without end, as a type of the upstream's choice. */
const pouring =
  (type: string, piece: string, headers: object = {}): Handle =>
  (_request, response) => {
    response.writeHead(200, { "content-type": type, ...headers });
    const pour = setInterval(() => response.write(piece), 10);
    response.once("close", () => clearInterval(pour));
  };

describe("a call under way is ended by a revocation, against a double of the control plane", () => {
  test.each<[string, string, string, object?]>([
    ["newline-delimited JSON", "application/x-ndjson", "{}\n"],
    ["bytes", "application/octet-stream", "bytes"],
    ["a declared length", "video/mp4", "bytes", { "content-length": 1e9 }],
    ["no type that a client would call a stream", "text/plain, text/event-stream", "data: x\n\n"],
    ["half events", "text/event-stream", "data: x\n"],
    ["events that answer no message", "text/event-stream", "data: x\n\n"],
    ["compressed events", "text/event-stream", "\n\n", { "content-encoding": "gzip" }],
  ])("an answer of %s is cut, never ended cleanly", async (_name, type, piece, headers = {}) => {
    const { open, revoke, upstream } = await setup(pouring(type, piece, headers));
    const response = await responseTo(open("/app/any", "GET").end());
    let end: unknown;
    textOf(response).then(
      () => (end = "a clean end"),
      (error: Error) => (end = error.message),
    );
    await revoke();
    await waitUntil("the answer to be cut", () => end !== undefined);
    expect(end).toBe("aborted");
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("an answer is counted as blocked, with the status that the agent received", async () => {
    const { open, revoke, metric } = await setup(pouring("application/x-ndjson", "{}\n"));
    const response = await responseTo(open("/app/any", "GET").end());
    response.on("error", () => {}).resume();
    await revoke();
    await waitUntil("the block", async () => (await metric('svc_pep_blocks_total{cause="policy"}')) === 1);
    expect(await metric('svc_pep_calls_total{outcome="allowed"}')).toBe(0);
  });

  test.each([
    ["chunked", {}],
    ["of a declared length", { "content-length": 1e6 }],
  ])("an upload, %s, gets the reason", async (_name, headers) => {
    const { open, revoke, upstream, metric } = await setup(silent);
    const request = open("/app/any", "POST", headers);
    const pour = setInterval(() => request.write("piece"), 10);
    try {
      await revoke();
      const response = await responseTo(request);
      expect([response.statusCode, response.headers["x-svc-blocked"]]).toEqual([403, "policy"]);
      expect(JSON.parse(await textOf(response))).toMatchObject({ details: { deny_reason: "AGENT_REVOKED" } });
    } finally {
      clearInterval(pour);
    }
    await expect(upstream.received[0]?.body).rejects.toThrow("aborted");
    expect(await metric('svc_pep_calls_total{outcome="blocked"}')).toBe(1);
  });

  test("a long poll without an answer gets the reason", async () => {
    const { open, revoke, upstream } = await setup(silent);
    const request = open("/app/any", "GET").end();
    await revoke();
    expect((await responseTo(request)).headers["x-svc-blocked"]).toBe("policy");
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("an MCP tool call without an answer gets the reason in band", async () => {
    const { open, revoke } = await setup(silent);
    const request = open("/chat", "POST", json).end(toolCall);
    await revoke();
    const response = await responseTo(request);
    expect([response.statusCode, response.headers["x-svc-blocked"]]).toEqual([200, "policy"]);
    expect(JSON.parse(await textOf(response))).toMatchObject({ id: 7, error: { data: { code: "policy" } } });
  });

  test("an MCP tool call whose events flow ends with the reason as an event of its own", async () => {
    const { open, revoke } = await setup(pouring("text/event-stream", "event: message\ndata: {}\n\n"));
    const response = await responseTo(open("/chat", "POST", json).end(toolCall));
    const text = textOf(response);
    await revoke();
    const last = (await text).split("\n\n").at(-2) ?? "";
    expect(last).toMatch(/^data: /);
    const message = JSON.parse(last.slice("data: ".length));
    expect(message).toMatchObject({ jsonrpc: "2.0", id: 7, error: { data: { deny_reason: "AGENT_REVOKED" } } });
  });

  test.each([
    ["half an event", "text/event-stream", "data: x\n"],
    ["JSON", "application/json", " "],
  ])("an MCP tool call whose answer is %s is cut", async (_name, type, piece) => {
    const { open, revoke } = await setup(pouring(type, piece));
    const response = await responseTo(open("/chat", "POST", json).end(toolCall));
    const text = textOf(response);
    text.catch(() => {});
    await revoke();
    await expect(text).rejects.toThrow("aborted");
  });

  test("an MCP event stream that is not open yet gets the reason", async () => {
    const { open, revoke } = await setup(silent);
    const request = open("/chat", "GET", { accept: "text/event-stream" }).end();
    await revoke();
    expect((await responseTo(request)).headers["x-svc-blocked"]).toBe("policy");
  });
});

describe("in observe mode a call under way", () => {
  test("is not ended by a revocation, and each decision is recorded", async () => {
    const { open, revoke, controlPlane, metric } = await setup(pouring("application/x-ndjson", "{}\n"), "observe");
    const request = open("/app/any", "GET").end();
    const response = await responseTo(request);
    response.on("error", () => {}).resume();
    await revoke();
    const before = controlPlane.countOf("/v1/authorize");
    await waitUntil("two more decisions", () => controlPlane.countOf("/v1/authorize") >= before + 2);
    expect(response.destroyed).toBe(false);
    expect(controlPlane.decisions().every(({ enforced }) => !enforced)).toBe(true);
    request.destroy();
    await waitUntil("the end", async () => (await metric('svc_pep_calls_total{outcome="allowed"}')) === 1);
  });
});
