import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { waitUntil } from "@svc/test-support";
import { WebSocket } from "undici";
import { describe, expect, test } from "vitest";
import type { Limits } from "../src/limits.ts";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [
  { methods: ["GET"], path: "/live/*", target: "http:chat/live", data_class: "docs" },
  { methods: ["GET"], path: "/files", target: "http:chat/files", data_class: "docs" },
];

const key = "dGhlIHNhbXBsZSBub25jZQ==";
const acceptOf = (sent: string) =>
  createHash("sha1").update(`${sent}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
const accept = acceptOf(key);

async function setup(limits: Partial<Limits> = {}) {
  const upstream = await startedUpstream();
  const upgraded: { request: IncomingMessage; socket: Duplex }[] = [];
  upstream.server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    upgraded.push({ request, socket });
    socket.on("error", () => {});
    socket.on("end", () => socket.end());
    socket.write(
      [
        ...["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade, X-Hop", "X-Hop: 1"],
        ...[
          `Sec-WebSocket-Accept: ${acceptOf(request.headers["sec-websocket-key"] ?? "")}`,
          "X-Svc-Blocked: policy",
          `X-Echo: ${request.headers.authorization}`,
          "X-Fine: 1",
          "",
          "",
        ],
      ].join("\r\n"),
    );
    socket.on("data", (chunk) => socket.write(`echo ${chunk}`));
  });
  const running = await startedPep({ upstreams: [{ name: "chat", url: `${upstream.url}/base`, routes }], limits });
  running.controlPlane.policies.set("http:chat/live", {});
  const session = await running.session();
  const open = (path: string, headers: string[] = []) =>
    rawConnection(
      running.port,
      [
        ...[`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${running.port}`, "Upgrade: websocket", "Connection: Upgrade"],
        ...[`Sec-WebSocket-Key: ${key}`, "Sec-WebSocket-Version: 13", `Authorization: ${session.authorization}`],
        ...[`X-Svc-Session: ${session["x-svc-session"]}`, ...headers, "", ""],
      ].join("\r\n"),
    );
  return { ...running, upstream, upgraded, open };
}

describe("a WebSocket, against a double of the control plane", () => {
  test("is decided before 101, forwarded with a narrowed token on the exact path, and open in both directions", async () => {
    const { open, upgraded, controlPlane, metric } = await setup();
    const agent = await open("/chat/live/a;b?x=%zz&y=1?", [
      "Txn-Token: forged",
      "X_Svc_Session: forged",
      "Expect: 100-continue",
      "constructor: plain",
    ]);
    const text = await agent.until(/\r\n\r\n/);
    expect(text).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(text).toMatch(new RegExp(`^sec-websocket-accept: ${accept.replaceAll(/[+/]/g, "\\$&")}\r$`, "m"));
    expect(text).toMatch(/^x-fine: 1\r$/m);
    expect(text).not.toMatch(/x-svc|x-echo|x-hop: /i);
    const { url, headers = {}, rawHeaders = [] } = upgraded[0]?.request ?? {};
    expect(url).toBe("/base/live/a;b?x=%zz&y=1?");
    expect(headers.authorization).toMatch(/^Bearer ey/);
    expect(headers["sec-websocket-key"]).toBe(key);
    expect(rawHeaders.join("\n")).not.toContain("forged");
    expect(rawHeaders[rawHeaders.indexOf("constructor") + 1]).toBe("plain");
    agent.socket.write("ping");
    await agent.until(/echo ping/);
    expect(controlPlane.countOf("/v1/authorize")).toBe(1);
    expect(await metric('svc_pep_calls_total{outcome="allowed"}')).toBe(1);
  });

  test.each([
    ["a deny", "/chat/files", [], 403, "policy"],
    ["no route", "/chat/other", [], 404, "unresolvable_call"],
    ["an ambiguous path", "/chat/live/%2e%2e/x", [], 404, "unresolvable_call"],
    ["two bearers", "/chat/live/a", ["Authorization: Bearer a.b.c"], 401, "unauthorized"],
  ])("%s gets a response and is closed, and nothing goes upstream", async (_name, path, headers, status, cause) => {
    const { open, upgraded, metric } = await setup();
    const agent = await open(path, headers);
    const text = await agent.closed();
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(text).toMatch(new RegExp(`^x-svc-blocked: ${cause}\r$`, "m"));
    expect(upgraded).toHaveLength(0);
    expect(await metric(`svc_pep_blocks_total{cause="${cause}"}`)).toBe(1);
  });

  test("of a privileged target is unbindable, since it has no body", async () => {
    const { open, controlPlane } = await setup();
    controlPlane.policies.set("http:chat/live", { privileged: true });
    expect(await (await open("/chat/live/a")).closed()).toMatch(/^HTTP\/1\.1 422 .*x-svc-blocked: unbindable/is);
    expect(controlPlane.countOf("/v1/token/exchange")).toBe(0);
  });

  test("is decided again, and closed on both sides on a deny; no second call is counted", async () => {
    const { open, upstream, controlPlane, metric } = await setup({ redecideMs: 100 });
    const agent = await open("/chat/live/a");
    await agent.until(/101/);
    await waitUntil("another decision", () => controlPlane.countOf("/v1/authorize") >= 2);
    expect(agent.socket.closed).toBe(false);
    controlPlane.policies.set("http:chat/live", { denyReason: "AGENT_REVOKED" });
    await agent.closed();
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
    expect(await metric('svc_pep_calls_total{outcome="allowed"}')).toBe(1);
  });

  test("whose agent is revoked is closed with 1008 and the reason, as a stock client reads it", async () => {
    const { url, session, upstream, upgraded, controlPlane } = await setup({ redecideMs: 100 });
    const socket = new WebSocket(`${url.replace("http", "ws")}/chat/live/a`, { headers: await session() });
    await once(socket, "open");
    upgraded[0]?.socket.write(Buffer.from("\x81\x02hi", "latin1"));
    expect((await once(socket, "message"))[0]).toMatchObject({ data: "hi" });
    controlPlane.policies.set("http:chat/live", { denyReason: "AGENT_REVOKED" });
    expect((await once(socket, "close"))[0]).toMatchObject({ code: 1008, reason: "AGENT_REVOKED", wasClean: true });
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("that is closed within a frame is cut: no reason can follow half a frame", async () => {
    const { open, upgraded, controlPlane } = await setup({ redecideMs: 100 });
    const agent = await open("/chat/live/a");
    await agent.until(/\r\n\r\n/);
    upgraded[0]?.socket.write(Buffer.from("\x81\x05half", "latin1"));
    await agent.until(/half$/);
    controlPlane.policies.set("http:chat/live", { denyReason: "AGENT_REVOKED" });
    expect(await agent.closed()).toMatch(/half$/);
  });

  test("that is not open yet gets the reason of a revocation as an answer", async () => {
    const { open, upstream, controlPlane } = await setup({ redecideMs: 100 });
    upstream.server.removeAllListeners("upgrade").on("upgrade", (_request, socket) => {
      socket.resume().on("end", () => socket.end());
      controlPlane.policies.set("http:chat/live", { denyReason: "AGENT_REVOKED" });
    });
    expect(await (await open("/chat/live/a")).closed()).toMatch(/^HTTP\/1\.1 403 .*AGENT_REVOKED/s);
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("is closed at the session's end, which its token shows", async () => {
    const { port, controlPlane } = await setup();
    const { sessionId, token } = await controlPlane.consent({ ttlSeconds: 4 });
    const agent = await rawConnection(
      port,
      [
        ...["GET /chat/live/a HTTP/1.1", `Host: 127.0.0.1:${port}`, "Upgrade: websocket", "Connection: Upgrade"],
        ...[`Authorization: Bearer ${token}`, `X-Svc-Session: ${sessionId}`, "", ""],
      ].join("\r\n"),
    );
    await agent.until(/101/);
    await agent.closed();
    expect(controlPlane.countOf("/v1/authorize")).toBe(1);
  });

  test("whose agent disconnects before the upstream's response is counted, and closes the upstream's connection", async () => {
    const { open, upstream, metric } = await setup();
    let asked = 0;
    upstream.server.removeAllListeners("upgrade").on("upgrade", (_request, socket) => {
      asked += 1;
      socket.resume().on("end", () => socket.end());
    });
    const agent = await open("/chat/live/a");
    await waitUntil("the upstream to be asked", () => asked === 1);
    agent.socket.destroy();
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
    expect(await metric('svc_pep_calls_total{outcome="allowed"}')).toBe(1);
  });

  test("closes the upstream's connection when the agent disconnects", async () => {
    const { open, upstream } = await setup();
    const agent = await open("/chat/live/a");
    await agent.until(/101/);
    agent.socket.destroy();
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("that an upstream refuses gets the upstream's response", async () => {
    const { open, upstream } = await setup();
    upstream.server.removeAllListeners("upgrade");
    const agent = await open("/chat/live/a");
    expect(await agent.closed()).toMatch(/^HTTP\/1\.1 200 OK\r\n.*done/s);
  });

  test.each([
    [
      "204 No Content",
      "HTTP/1.1 204 No Content\r\n\r\n",
      /^HTTP\/1\.1 204 [^\r]*\r\n(?!.*transfer-encoding)(?=.*connection: close).*\r\n\r\n$/is,
    ],
    [
      "chunks",
      "HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
      /^HTTP\/1\.1 403 .*\r\n\r\n2\r\nno\r\n0\r\n\r\n$/s,
    ],
    [
      "our own words",
      "HTTP/1.1 403 No\r\nX-Svc-Blocked: policy\r\nContent-Length: 2\r\n\r\nno",
      /^HTTP\/1\.1 403 (?!.*x-svc-blocked).*\r\n\r\nno$/is,
    ],
    [
      "trailers that cannot come",
      "HTTP/1.1 403 No\r\nTrailer: x-a\r\nContent-Length: 2\r\n\r\nno",
      /^HTTP\/1\.1 403 (?!.*trailer).*\r\n\r\nno$/is,
    ],
    ["half an upgrade", "HTTP/1.1 101 Switching Protocols\r\n\r\n", /^HTTP\/1\.1 502 .*upstream_unreachable/s],
  ])("that an upstream refuses with %s gets the response of any call", async (_name, bytes, expected) => {
    const { open, upstream } = await setup();
    upstream.server.removeAllListeners("upgrade").on("upgrade", (_request, socket) => void socket.end(bytes));
    expect(await (await open("/chat/live/a")).closed()).toMatch(expected);
  });

  test("that an upstream refuses at length is read no faster than the agent reads", async () => {
    const { open, upstream } = await setup();
    upstream.server.removeAllListeners("upgrade");
    upstream.server.removeAllListeners("request");
    const piece = Buffer.alloc(2 ** 20);
    let poured = 0;
    upstream.server.on("request", (_request, response) => {
      const pour = () => {
        do poured += 1;
        while (poured < 256 && response.write(piece));
      };
      response.on("drain", pour);
      pour();
    });
    const agent = await open("/chat/live/a");
    agent.socket.pause();
    let before = 0;
    let looks = 0;
    await waitUntil("nothing more to be carried", () => {
      looks = poured === before && poured > 0 ? looks + 1 : 0;
      before = poured;
      return looks === 25;
    });
    expect(poured).toBeLessThan(64);
    agent.socket.destroy();
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("without a response of the upstream is 504 within its time limit, and its connection is closed", async () => {
    const { open, upstream, metric } = await setup({ upstreamHeadersMs: 100 });
    upstream.server.removeAllListeners("upgrade").on("upgrade", (_request, socket) => {
      socket.resume().on("end", () => socket.end());
    });
    const agent = await open("/chat/live/a");
    expect(await agent.closed()).toMatch(/^HTTP\/1\.1 504 .*upstream_timeout/s);
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
    expect(await metric('svc_pep_calls_total{outcome="allowed"}')).toBe(1);
  });

  test("to an upstream that is down is 502", async () => {
    const { open, upstream } = await setup();
    upstream.server.close();
    const agent = await open("/chat/live/a");
    expect(await agent.closed()).toMatch(/^HTTP\/1\.1 502 .*upstream_unreachable/s);
  });
});

test("any other upgrade is forwarded as a plain request", async () => {
  const { port, session, upstream } = await setup();
  const { authorization, "x-svc-session": sessionId } = await session();
  const lines = [
    "GET /chat/live/a HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "Connection: Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: x",
  ];
  const agent = await rawConnection(
    port,
    [...lines, `Authorization: ${authorization}`, `X-Svc-Session: ${sessionId}`, "", ""].join("\r\n"),
  );
  await agent.until(/HTTP\/1\.1 200 OK/);
  expect(upstream.received[0]?.headers).not.toHaveProperty("upgrade");
  expect(upstream.received[0]?.headers).not.toHaveProperty("http2-settings");
});
