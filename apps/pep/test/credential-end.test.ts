import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { waitUntil } from "@svc/test-support";
import { describe, expect, onTestFinished, test } from "vitest";
import { startedEgressProxy } from "./support/egress-proxy.ts";
import { closedGate } from "./support/gate.ts";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
const text = (name: string) => readFileSync(fixture(name), "utf8");
const routes = [{ methods: ["GET"], path: "/a", target: "http:app/a", data_class: "docs" }];
const sessionSeconds = 5;

/** An HTTPS upstream that notes the tokens of requests and upgrades. */
async function tlsUpstream() {
  const tokens: unknown[] = [];
  const server = createServer({ key: text("server.key"), cert: text("server.pem") }, (request, response) => {
    tokens.push(request.headers.authorization);
    response.end("done");
  });
  server.on("upgrade", (request, socket) => {
    tokens.push(request.headers.authorization);
    socket.end("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, tokens };
}

async function pepFor(url: string, settings: Record<string, string> = {}) {
  const app = { name: "app", url, tls: { ca_file: fixture("ca.pem") }, routes };
  const running = await startedPep({ upstreams: [app], settings });
  running.controlPlane.policies.set("http:app/a", {});
  const { sessionId, token } = await running.controlPlane.consent({ ttlSeconds: sessionSeconds });
  const headers = { authorization: `Bearer ${token}`, "x-svc-session": sessionId };
  const call = (given: Record<string, string>) => fetch(`${running.url}/app/a`, { headers: given });
  return { ...running, headers, call };
}

describe("a token whose session ends while the connection is opened never goes upstream", () => {
  test("where the upstream is slow", async () => {
    const upstream = await tlsUpstream();
    const gate = await closedGate(upstream.url);
    const { call, headers, session, controlPlane } = await pepFor(`https://127.0.0.1:${gate.port}`);
    const response = await call(headers);
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([401, "unauthorized"]);
    expect(controlPlane.countOf("/v1/token/exchange")).toBe(1);
    gate.open();
    expect((await call(await session())).status).toBe(200);
    expect(upstream.tokens).toHaveLength(1);
  });

  test("where an egress proxy is slow", async () => {
    const upstream = await tlsUpstream();
    const proxy = await startedEgressProxy();
    const gate = await closedGate(proxy.url);
    const { call, headers, session, controlPlane } = await pepFor(upstream.url, {
      HTTPS_PROXY: `http://127.0.0.1:${gate.port}`,
    });
    expect((await call(headers)).status).toBe(401);
    expect(controlPlane.countOf("/v1/token/exchange")).toBe(1);
    gate.open();
    expect((await call(await session())).status).toBe(200);
    expect(upstream.tokens).toHaveLength(1);
  });

  test.each(["enforce", "observe"])("of a WebSocket, mode %s", async (mode) => {
    const upstream = await tlsUpstream();
    const gate = await closedGate(upstream.url);
    const { port, headers, session, controlPlane } = await pepFor(`https://127.0.0.1:${gate.port}`, {
      SVC_PEP_MODE: mode,
    });
    const upgrade = ({ authorization, "x-svc-session": id }: typeof headers) =>
      rawConnection(
        port,
        [
          ...["GET /app/a HTTP/1.1", `Host: 127.0.0.1:${port}`, "Upgrade: websocket", "Connection: Upgrade"],
          ...[`Authorization: ${authorization}`, `X-Svc-Session: ${id}`, "", ""],
        ].join("\r\n"),
      );
    expect(await (await upgrade(headers)).closed()).toMatch(/^HTTP\/1\.1 401 .*x-svc-blocked: unauthorized/is);
    expect(controlPlane.countOf("/v1/token/exchange")).toBe(1);
    gate.open();
    await (await upgrade(await session())).until(/101/);
    expect(upstream.tokens).toHaveLength(1);
  });

  test("of an MCP message that waits behind its session's event stream", async () => {
    const upstream = await startedUpstream(() => {});
    const chat = { name: "chat", url: `${upstream.url}/mcp`, protocol: "mcp", data_class: "docs" };
    const { url, controlPlane } = await startedPep({ upstreams: [chat], limits: { streamHeadMs: 60_000 } });
    controlPlane.policies.set("mcp:chat", {});
    const { sessionId, token } = await controlPlane.consent({ ttlSeconds: sessionSeconds });
    const headers = {
      authorization: `Bearer ${token}`,
      "x-svc-session": sessionId,
      "mcp-session-id": "one",
      "content-type": "application/json",
    };
    const stream = fetch(`${url}/chat`, { headers });
    await waitUntil("the stream's request", () => upstream.received.length === 1);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const queued = fetch(`${url}/chat`, { method: "POST", headers, body });
    expect([(await stream).status, (await queued).status]).toEqual([401, 401]);
    expect(controlPlane.countOf("/v1/token/exchange")).toBe(2);
    expect(upstream.received.map(({ method }) => method)).toEqual(["GET"]);
  });
});
