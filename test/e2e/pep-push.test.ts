import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Api } from "@svc/test-conformance/api";
import { type Pair, startPair } from "@svc/test-conformance/stack";
import { requires, testBearers, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { type Hurried, startHurried } from "./src/pep/frequent-decisions.ts";
import { type AgentHeaders, headersOf, scope, tools } from "./src/pep/guarded.ts";
import { headOf, type RawUpstream, startRawUpstream } from "./src/pep/raw-upstream.ts";
import { decisionsOf } from "./src/pep/record.ts";

const { describe, test } = requires("redis-server");

let pair: Pair;
let upstream: RawUpstream;
let pep: Hurried;

beforeAll(async () => {
  pair = await startPair();
  upstream = await startRawUpstream({
    "/any/events": (socket) => void socket.write(`${events}data: 1\n\n`),
    "/any/upload": () => {},
    "/any/websocket": (socket) => void socket.write(switched),
  });
  await pair.one.attest("courier", { [scope]: { hop_budget: 2, tools } });
  // Without the push no call would end within the test.
  const settings = { SVC_PEP_ENFORCEMENT_TOKEN: testBearers.enforcement };
  pep = await startHurried({ api: pair.other, upstream }, { redecideMs: 3_600_000, otel: {}, settings });
});
afterAll(async () => {
  await pep?.stop();
  await upstream?.stop();
  await pair?.stop();
});

const events = headOf(["HTTP/1.1 200 OK", "Content-Type: text/event-stream"]);
const switched = headOf(["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]);
const upgrade = ["Upgrade: websocket", "Connection: Upgrade"];

interface Agent {
  readonly socket: Socket;
  text(): string;
  isOpen(): boolean;
}

async function agentOf(headers: AgentHeaders, line: string, ...more: readonly string[]): Promise<Agent> {
  const { host, hostname, port } = new URL(pep.url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let text = "";
  socket.setEncoding("latin1").on("data", (piece) => {
    text += piece;
  });
  socket.on("error", () => {});
  await once(socket, "connect");
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.write(headOf([`${line} HTTP/1.1`, `Host: ${host}`, ...own, ...more]), "latin1");
  return { socket, text: () => text, isOpen: () => !socket.destroyed };
}

/** A stream, an upload that does not end, and a WebSocket, all in one new session. */
async function underWay(api: Api) {
  const headers = await headersOf({ api });
  const before = upstream.arrivals();
  const agents = [
    await agentOf(headers, "GET /app/any/events"),
    await agentOf(headers, "POST /app/any/upload", "Transfer-Encoding: chunked"),
    await agentOf(headers, "GET /app/any/websocket", ...upgrade),
  ];
  for (const { socket } of agents.slice(1, 2)) socket.write("5\r\nbegun\r\n");
  await waitUntil("every call to reach its upstream", () => upstream.arrivals() === before + agents.length);
  return { session: headers["x-svc-session"], agents };
}

const admin = (method: string, path: string, body: object = {}) =>
  pair.one.call(method, path, { bearer: testBearers.admin, ...(method !== "DELETE" && { body }) });
const blockPath = `/v1/blocks/tool/${encodeURIComponent("http:app/any")}`;

describe("calls under way at one control plane end by the push of an act at another one", () => {
  test.each<[string, string, (session: string) => Promise<{ readonly status: number }>]>([
    ["an ended session", "SESSION_REVOKED", (session) => admin("POST", `/v1/sessions/${session}/revoke`)],
    ["a block", "TARGET_BLOCKED", () => admin("PUT", blockPath, { reason: "hostile" })],
    ["a revoked agent", "AGENT_REVOKED", () => revokeCourier()],
  ])("%s", async (_name, reason, act) => {
    const { session, agents } = await underWay(pair.other);
    expect((await act(session)).status).toBe(200);
    await waitUntil("every call to end", () => agents.every((agent) => !agent.isOpen()));
    const denied = (await decisionsOf({ api: pair.one }, session)).filter(({ decision }) => decision === "deny");
    expect(denied).toHaveLength(agents.length);
    expect(denied).toEqual(agents.map(() => expect.objectContaining({ deny_reason: reason, enforced: true })));
    const [stream, upload, webSocket] = agents.map(({ text }) => text());
    expect(stream).toContain("data: 1");
    expect(upload).toMatch(/^HTTP\/1\.1 403 [\s\S]*x-svc-blocked: policy/i);
    expect(webSocket).toContain(reason);
    await waitUntil("the upstream's side to be closed", () => upstream.sockets.size === 0);
    await admin("DELETE", blockPath);
  });
});

async function revokeCourier() {
  const { body } = await pair.one.call("GET", "/v1/identity/agents/courier", { bearer: testBearers.identity });
  return admin("POST", `/v1/agents/${body.agent_id}/revoke`);
}
