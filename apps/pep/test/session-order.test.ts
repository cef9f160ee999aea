import type { IncomingMessage, ServerResponse } from "node:http";
import { waitUntil } from "@svc/test-support";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSessionOrder } from "../src/http/session-order.ts";
import type { Limits } from "../src/limits.ts";
import type { Resolved } from "../src/resolve/resolve.ts";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";
import { files, upstreamsFrom } from "./support/upstreams.ts";

type OnStream = (response: ServerResponse, request: IncomingMessage) => void;
type Headers = Readonly<Record<string, string>>;

const openStream: OnStream = (response) =>
  response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
/** Nothing ends by itself while a test looks. */
const patient = { stepMs: 60_000, hopMs: 60_000, streamHeadMs: 60_000 };
const mine = { "mcp-session-id": "mine" };
const tool = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "read_file" } });

/** An MCP server with a scripted stream, and an agent whose stream waits for its decision until it is released. */
async function setup(onStream: OnStream = openStream, limits: Partial<Limits> = {}) {
  const upstream = await startedUpstream((request, response) => {
    if (request.method === "GET") onStream(response, request);
    else response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  const server = { url: `${upstream.url}/mcp`, protocol: "mcp", data_class: "docs" };
  const running = await startedPep({
    upstreams: ["files", "notes"].map((name) => ({ name, ...server })),
    limits: { ...patient, ...limits },
  });
  const { controlPlane, port } = running;
  for (const target of ["mcp:files", "mcp:files/read_file", "mcp:notes/read_file"])
    controlPlane.policies.set(target, {});
  const headers = await running.session();

  const send = (method: string, more: Headers = mine, { path = "/files", as = headers as Headers } = {}) => {
    const all = { host: `127.0.0.1:${port}`, ...as, ...more };
    const body = method === "POST" ? tool : "";
    const framing = body ? [`content-length: ${body.length}`] : [];
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
    return rawConnection(port, [`${method} ${path} HTTP/1.1`, ...lines, ...framing, "", body].join("\r\n"));
  };
  /** The next decision about a target, and no other, waits. */
  const hold = (target: string) => {
    const { promise, resolve: release } = Promise.withResolvers<void>();
    controlPlane.override = async ({ path, body }) => {
      if (path !== "/v1/authorize" || JSON.parse(body).target !== target) return undefined;
      controlPlane.override = undefined;
      await promise;
      return undefined;
    };
    const isAsked = () => controlPlane.decisions().some((decision) => decision.target === target);
    return { release, asked: () => waitUntil(`${target} to be decided on`, isAsked) };
  };
  /** Opens the stream, and returns while it is being decided on. */
  const beginStream = async (headers?: Headers) => {
    const { release, asked } = hold("mcp:files");
    const stream = await send("GET", headers);
    await asked();
    return { stream, release };
  };
  // A first call fills the agent's pool: until then, a call under decision holds its only token.
  await (await send("POST", {}, { path: "/notes" })).until(/ 200 OK/);
  const earlier = controlPlane.countOf("/v1/token/exchange");
  const exchanges = (count: number) =>
    waitUntil("the call to be decided", () => controlPlane.countOf("/v1/token/exchange") >= earlier + count);
  /** A whole call of another session: whatever was under way before has gone as far as it can. */
  const callElsewhere = async () => (await send("POST", { "mcp-session-id": "elsewhere" })).until(/ 200 OK/);
  const received = () =>
    upstream.received
      .map(({ method, headers }) => `${method} ${headers["mcp-session-id"]}`)
      .filter((it) => it.endsWith("mine"));
  return { ...running, upstream, headers, send, hold, beginStream, exchanges, callElsewhere, received };
}

describe("while an event stream of its MCP session is opening", () => {
  test("a later call is decided, and forwarded once the stream's response has begun", async () => {
    const { promise: asked, resolve: onStream } = Promise.withResolvers<ServerResponse>();
    const { send, beginStream, exchanges, callElsewhere, received } = await setup(onStream);
    const { release } = await beginStream();
    const call = await send("POST");
    await exchanges(1);
    await callElsewhere();
    expect(received()).toEqual([]);
    release();
    const response = await asked;
    await callElsewhere();
    expect(received()).toEqual(["GET mine"]);
    openStream(response, response.req);
    await call.until(/ 200 OK/);
    expect(received()).toEqual(["GET mine", "POST mine"]);
  });

  test.each(["DELETE", "GET"])("a later %s waits too", async (method) => {
    const { send, beginStream, exchanges, callElsewhere, received } = await setup();
    const { release, stream } = await beginStream();
    const later = await send(method);
    await exchanges(1);
    await callElsewhere();
    expect(received()).toEqual([]);
    release();
    await Promise.all([stream, later].map((each) => each.until(/ 200 OK/)));
    expect(received()).toEqual(["GET mine", `${method} mine`]);
  });

  test("an earlier call does not wait", async () => {
    const { send, hold, exchanges, received } = await setup((response) => response.flushHeaders());
    const { release, asked } = hold("mcp:files/read_file");
    const call = await send("POST");
    await asked();
    const silent = hold("mcp:files");
    await send("GET");
    await silent.asked();
    release();
    await exchanges(1);
    await call.until(/ 200 OK/);
    expect(received()).toEqual(["POST mine"]);
  });

  test("a call whose agent disconnects meanwhile is not forwarded", async () => {
    const { send, beginStream, exchanges, callElsewhere, received, metrics } = await setup();
    const { release, stream } = await beginStream();
    const call = await send("POST");
    await exchanges(1);
    call.socket.destroy();
    await call.closed();
    release();
    await stream.until(/ 200 OK/);
    await callElsewhere();
    expect(received()).toEqual(["GET mine"]);
    expect(await metrics()).toContain('svc_pep_calls_total{outcome="allowed"} 3');
  });

  test("calls of other sessions do not wait", async () => {
    const { send, beginStream, session, controlPlane, headers } = await setup();
    await beginStream();
    const sibling = await controlPlane.sibling(headers.authorization.slice("Bearer ".length));
    const others: [string, Headers | undefined, Parameters<typeof send>[2]?][] = [
      ["another session of the same agent", { "mcp-session-id": "other" }],
      ["no session", {}],
      ["a name that only resembles the header's", { mcp_session_id: "mine" }],
      ["the same name at another server", mine, { path: "/notes" }],
      ["the same name from another agent", mine, { as: await session() }],
      ["the same names under another token", mine, { as: { ...headers, authorization: `Bearer ${sibling}` } }],
    ];
    for (const [what, more, options] of others) {
      const answer = await (await send("POST", more, options)).until(/\r\n\r\n/);
      expect([what, answer.split("\r\n")[0]]).toEqual([what, "HTTP/1.1 200 OK"]);
    }
  });
});

describe("a call waits no longer once the event stream", () => {
  type Started = Awaited<ReturnType<typeof setup>>;
  type Begun = Awaited<ReturnType<Started["beginStream"]>>;
  const denied = { denyReason: "TARGET_NOT_DECLARED" };
  const cases: [string, (begun: Begun, started: Started) => unknown, OnStream?, Partial<Limits>?][] = [
    ["is denied", ({ release }, { controlPlane }) => release(void controlPlane.policies.set("mcp:files", denied))],
    ["gets no decision in time", () => {}, openStream, { stepMs: 2_000 }],
    ["is left by its agent", ({ stream }) => stream.socket.destroy()],
    ["is opened", ({ release }) => release()],
    ["is none of the server's: 405", ({ release }) => release(), (response) => response.writeHead(405).end()],
    ["is cut by the server", ({ release }) => release(), (_response, request) => request.socket.destroy()],
    ["takes the server too long", ({ release }) => release(), () => {}, { streamHeadMs: 50 }],
  ];
  test.each(cases)("%s", async (_name, end, onStream = openStream, limits = {}) => {
    const started = await setup(onStream, limits);
    const begun = await started.beginStream();
    const call = await started.send("POST");
    await started.exchanges(1);
    await end(begun, started);
    await call.until(/ 200 OK/);
  });
});

describe("the order of a session", () => {
  const upstream = upstreamsFrom([files]).byName.get("files");
  if (!upstream) throw new Error("no upstream");
  const resolved: Resolved = {
    kind: "call",
    upstream,
    path: "/mcp",
    call: { target: "t", targetKind: "tool", dataClass: "d" },
  };
  const credential = { sessionId: "s", token: "t" };
  const request = (method: string, id = "mine") => ({ method, rawHeaders: ["Mcp-Session-Id", id] });
  const never = new AbortController().signal;

  test("a stream that is neither sent nor aborted delays a call at most for the time of a decision", async () => {
    const order = createSessionOrder({ hopMs: 20, streamHeadMs: 60_000 });
    order.enter(request("GET"), resolved, credential);
    await order.enter(request("POST"), resolved, credential).ready(never);
    expect(order.opening()).toBe(0);
  });

  test("every call is released and no session is kept, in any order of openings and ends", async () => {
    const acts = fc.array(fc.tuple(fc.constantFrom("a", "b"), fc.constantFrom("sent", "answered"), fc.nat()));
    await fc.assert(
      fc.asyncProperty(acts, async (made) => {
        const order = createSessionOrder(patient);
        const turns = made.map(([id]) => order.enter(request("GET", id), resolved, credential));
        for (const [, act, at] of made) turns[at % turns.length]?.[act]();
        for (const turn of turns) turn.answered();
        await Promise.all(turns.map((turn) => turn.ready(never)));
        await order.enter(request("POST", "a"), resolved, credential).ready(never);
        expect(order.opening()).toBe(0);
      }),
    );
  });

  test("a call without an MCP session or a credential keeps no session", () => {
    const order = createSessionOrder(patient);
    const twice = ["Mcp-Session-Id", "mine", "Mcp-Session-Id", "mine"];
    order.enter({ method: "GET", rawHeaders: twice }, resolved, credential);
    order.enter(request("GET"), resolved, undefined);
    order.enter(request("GET"), { kind: "unmapped", upstream, path: "/mcp/x" }, credential);
    expect(order.opening()).toBe(0);
  });
});
