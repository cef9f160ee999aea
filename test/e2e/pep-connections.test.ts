import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Stand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AgentHeaders, callerOf, headersOf, openGuarded } from "./src/pep/guarded.ts";
import { descriptorsOf } from "./src/pep/process.ts";
import { type Behaviour, headOf, type RawUpstream, startRawUpstream } from "./src/pep/raw-upstream.ts";
import { remotePortsOf } from "./src/telemetry/processes.ts";

const begun = headOf(["HTTP/1.1 200 OK", "Content-Length: 1000"]).concat("half");
const eventStream = headOf(["HTTP/1.1 200 OK", "Content-Type: text/event-stream"]).concat("data: 1\n\n");
const switched = headOf(["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]);
/** The first bytes of a TLS hello, on a plain-text port. */
const tlsHello = "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003";

/** Responds, and resets the connection while the bytes are in transit. */
const thenResets =
  (bytes: string): Behaviour =>
  (socket) =>
    socket.write(bytes, "latin1", () => socket.resetAndDestroy());

const upstreamFaults: Record<string, Behaviour> = {
  "/any/reset-at-once": (socket) => socket.resetAndDestroy(),
  "/any/reset-in-headers": thenResets("HTTP/1.1 200 OK\r\nContent-Le"),
  "/any/reset-in-body": thenResets(begun),
  "/any/reset-in-events": thenResets(eventStream),
  "/any/reset-in-a-refusal-of-a-websocket": thenResets(begun.replace("200 OK", "403 Forbidden")),
  "/any/end-in-a-refusal-of-a-websocket": (socket) => socket.end(begun.replace("200 OK", "403 Forbidden")),
  "/any/reset-as-websocket": thenResets(`${switched}\u0081\u0002hi`),
  "/any/tls": (socket) => socket.end(tlsHello, "latin1"),
  "/any/nothing": (socket) => socket.end(),
  "/any/garbage": (socket) => socket.end(Buffer.alloc(100_000, 0xff)),
};

// A thousand connections take long beside other tests.
let stand: Stand;
let upstream: RawUpstream;
let headers: AgentHeaders;

beforeAll(async () => {
  upstream = await startRawUpstream({
    ...upstreamFaults,
    "/any/silent": () => {},
    "/any/begun": (socket) => void socket.write(begun),
    "/any/events": (socket) => void socket.write(eventStream),
    "/any/websocket": (socket) => void socket.write(switched),
  });
  stand = await openGuarded({ appUrl: upstream.url });
});
afterAll(async () => {
  await stand?.stop();
  await upstream?.stop();
});
beforeEach(async () => {
  headers = await headersOf(stand);
});

const own = () => [
  `Host: 127.0.0.1:${stand.port}`,
  `Authorization: ${headers.authorization}`,
  `X-Svc-Session: ${headers["x-svc-session"]}`,
];
const head = (line: string, ...more: string[]) => headOf([`${line} HTTP/1.1`, ...own(), ...more]);

/** On a busy machine some calls time out. */
function countBlocked(agents: readonly Socket[]): () => number {
  const blocked = new Set<Socket>();
  for (const agent of agents) {
    agent.on("data", (piece) => {
      if (piece.includes("HTTP/1.1 503 ")) blocked.add(agent);
    });
  }
  return () => blocked.size;
}

const open = new Set<Socket>();
afterEach(() => {
  for (const socket of open) socket.destroy();
});

async function agentOf(bytes: string): Promise<Socket> {
  const socket = connect(stand.port, "127.0.0.1");
  open.add(socket);
  socket.once("close", () => open.delete(socket));
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(bytes, "latin1");
  return socket;
}

/** The process's descriptors, without its kept-alive connections to the control plane. */
function descriptors(): number {
  const { pid } = stand.enforcementPoint;
  const controlPlanePort = Number(new URL(stand.api.url).port);
  return descriptorsOf(pid) - remotePortsOf(pid).filter((port) => port === controlPlanePort).length;
}

/** A call passes on its own connection; on a busy machine it may be repeated. */
async function served(): Promise<void> {
  const { call, close } = callerOf(`${stand.enforcementPoint.url}/app`, headers);
  await waitUntil("a call to pass", async () => (await call("/any/plain")).status === 200);
  close();
}

/** The number of descriptors at rest. */
async function idleDescriptors(): Promise<number> {
  await served();
  await waitUntil("the upstream's connections to close", () => upstream.sockets.size === 0);
  return descriptors();
}

const backTo = (count: number) => waitUntil(`${count} descriptors`, () => descriptors() <= count);

describe("case 64: a disconnected agent's upstream request ends, and every descriptor is freed", () => {
  const upload = `${(300_000).toString(16)}\r\n${"x".repeat(300_000)}\r\n`;
  test.each<[string, () => string]>([
    ["that wait for a response", () => head("GET /app/any/silent")],
    ["in the middle of a response", () => head("GET /app/any/begun")],
    ["on an event stream", () => head("GET /app/any/events")],
    ["as a WebSocket", () => head("GET /app/any/websocket", "Upgrade: websocket", "Connection: Upgrade")],
    [
      "with an unanswered WebSocket handshake",
      () => head("GET /app/any/silent", "Upgrade: websocket", "Connection: Upgrade"),
    ],
    ["in the middle of an upload", () => head("POST /app/any/silent", "Transfer-Encoding: chunked") + upload],
  ])("for 200 agents %s", async (_name, bytes) => {
    const before = await idleDescriptors();
    for (let aborted = 0; aborted < 200; ) {
      const arrived = upstream.arrivals();
      const agents = await Promise.all(Array.from({ length: 100 }, () => agentOf(bytes())));
      const blocked = countBlocked(agents);
      const reached = () => upstream.arrivals() - arrived;
      await waitUntil("every call to arrive or to be blocked", () => reached() + blocked() === 100);
      for (const [index, agent] of agents.entries()) index % 2 === 0 ? agent.destroy() : agent.resetAndDestroy();
      await waitUntil("every upstream connection to close", () => upstream.sockets.size === 0);
      aborted += reached();
    }
    await backTo(before);
    await served();
  });
});

test("case 65: other agents are served beside a thousand connections that send nothing or half a head", async () => {
  const before = await idleDescriptors();
  const idle = await Promise.all(
    Array.from({ length: 1_000 }, (_, n) => agentOf(n % 2 === 0 ? "" : `GET /app/any/plain HTTP/1.1\r\nHos`)),
  );
  // Less what was open before of its own pools and closed meanwhile.
  await waitUntil("the connections to be open", () => descriptors() >= before + 900);
  for (let call = 0; call < 100; call++) await served();
  for (const agent of idle) agent.destroy();
  await backTo(before);
});

describe("no socket error ends the process, and every descriptor is freed", () => {
  const resets: [string, () => string][] = [
    ["before a byte", () => ""],
    ["in the request line", () => "GET /app/an"],
    ["in a header", () => head("GET /app/any/plain").slice(0, -30)],
    ["in a body of a declared length", () => `${head("POST /app/any/plain", "Content-Length: 100")}half`],
    ["in a chunk", () => `${head("POST /app/any/plain", "Transfer-Encoding: chunked")}64\r\nhalf`],
    ["in the body of a privileged call", () => `${head("POST /app/write", "Content-Length: 100")}{"a":`],
    ["after a request", () => head("GET /app/any/begun")],
    [
      "after a WebSocket's handshake",
      () => head("GET /app/any/websocket", "Upgrade: websocket", "Connection: Upgrade"),
    ],
    ["after CONNECT", () => headOf(["CONNECT app.internal:443 HTTP/1.1", ...own()])],
    ["after a TLS hello", () => tlsHello],
    ["after garbage", () => "\u0000\u00ff\r\n\r\n".repeat(100)],
  ];
  test.each(resets)("agents that reset %s", async (_name, bytes) => {
    const before = await idleDescriptors();
    const agents = await Promise.all(Array.from({ length: 20 }, () => agentOf(bytes())));
    // Some at once, some while the enforcement point is deciding.
    for (const agent of agents.splice(0, 10)) agent.resetAndDestroy();
    await served();
    for (const agent of agents) agent.resetAndDestroy();
    await backTo(before);
    await served();
    expect(stand.enforcementPoint.hasExited()).toBe(false);
  });

  test.each(Object.keys(upstreamFaults))("an upstream that does %s", async (path) => {
    const before = await idleDescriptors();
    const upgrade = path.endsWith("websocket") ? ["Upgrade: websocket", "Connection: Upgrade"] : ["Connection: close"];
    const agents = await Promise.all(Array.from({ length: 20 }, () => agentOf(head(`GET /app${path}`, ...upgrade))));
    await Promise.all(agents.map((agent) => closed(agent)));
    await backTo(before);
    await served();
    expect(stand.enforcementPoint.hasExited()).toBe(false);
  });

  test("an upstream that resets in the middle of an upload", async () => {
    const before = await idleDescriptors();
    const body = "x".repeat(4_000_000);
    const length = `Content-Length: ${body.length}`;
    const sent = head("POST /app/any/reset-at-once", "Connection: close", length) + body;
    const agents = await Promise.all(Array.from({ length: 10 }, () => agentOf(sent)));
    await Promise.all(agents.map((agent) => closed(agent)));
    await backTo(before);
    expect(stand.enforcementPoint.hasExited()).toBe(false);
  });
});

/** Reads to the end of the connection, clean or not. */
function closed(agent: Socket): Promise<void> {
  agent.resume().on("end", () => agent.end());
  return agent.closed ? Promise.resolve() : new Promise((resolve) => agent.once("close", () => resolve()));
}
