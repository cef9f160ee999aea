import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "@svc/test-support";
import { pushText } from "@svc/test-support/push-text";
import { describe, expect, test } from "vitest";
import type { Limits } from "../src/limits.ts";
import { enforcementToken } from "./support/control-plane-routes.ts";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedTlsUpstream } from "./support/tls-upstream.ts";
import { exchanged, openedTunnel, type Spoken, securedTunnel } from "./support/tunnel-client.ts";

const routes = [{ methods: ["GET", "POST"], path: "/a", target: "http:bank/a", data_class: "docs" }];
const tunnelled = [{ connect: true, target: "http:site/tunnel", data_class: "docs" }];

async function setup(limits: Partial<Limits> = {}, more: Readonly<Record<string, string>> = {}) {
  const upstream = await startedTlsUpstream();
  const { url } = upstream;
  const running = await startedPep({
    upstreams: [],
    limits,
    settings: (folder) => ({
      SVC_PEP_TLS_CA_FILE: join(folder, "local-ca.pem"),
      SVC_PEP_CONFIG: join(folder, "upstreams.json"),
      ...more,
    }),
    prepare: (folder) => {
      const tls = { ca_file: join(folder, "upstream-ca.pem") };
      writeFileSync(tls.ca_file, upstream.ca);
      const upstreams = [
        { name: "bank", url, hosts: ["bank.example", "10.1.2.3", "bank.example:8443"], tls, routes },
        { name: "other", url, hosts: ["other.example"], tls, routes },
        { name: "tools", url: `${url}/mcp`, hosts: ["tools.example"], tls, protocol: "mcp", data_class: "docs" },
        { name: "site", url, hosts: ["site.example"], routes: tunnelled },
      ];
      writeFileSync(join(folder, "upstreams.json"), JSON.stringify({ upstreams }));
    },
  });
  running.controlPlane.policies.set("http:bank/a", {});
  running.controlPlane.policies.set("http:site/tunnel", {});
  const { authorization, "x-svc-session": sessionId } = await running.session();
  const lines = (first: string, host: string, ...more: readonly string[]) =>
    [first, `Host: ${host}`, `Authorization: ${authorization}`, ...more, "", ""].join("\r\n");
  const request = (first: string, host: string, ...more: readonly string[]) =>
    lines(first, host, "Connection: close", ...more);
  const ca = readFileSync(join(running.folder, "local-ca.pem"), "utf8");
  const secured = (authority: string, spoken: Spoken = {}) => securedTunnel(running.port, authority, { ca, ...spoken });
  return { ...running, upstream, sessionId, lines, request, ca, secured };
}

describe("a tunnel to a listed host ends at the enforcement point, against a double of the control plane", () => {
  test.each(["bank.example:443", "bank.example:8443", "10.1.2.3:443"])(
    "a request inside of %s is decided, and forwarded with a token for this call",
    async (authority) => {
      const { secured, request, upstream, controlPlane } = await setup();
      const host = authority.replace(/:443$/, "");
      const sent = request("POST /a?b HTTP/1.1", host, "Content-Length: 4");
      expect(await exchanged(await secured(authority), `${sent}body`)).toMatch(/^HTTP\/1\.1 200 OK.*Bearer ey$/s);
      expect(upstream.received).toEqual([`POST /a?b ${upstream.host} body`]);
      expect(controlPlane.decisions()).toMatchObject([{ target: "http:bank/a" }]);
    },
  );

  test("so is each request of a connection", async () => {
    const { secured, lines, request, upstream, controlPlane } = await setup();
    const both = lines("GET /a HTTP/1.1", "bank.example") + request("GET /a HTTP/1.1", "bank.example");
    expect((await exchanged(await secured("bank.example:443"), both)).match(/HTTP\/1\.1 200/g)).toHaveLength(2);
    expect(upstream.received).toHaveLength(2);
    expect(controlPlane.decisions()).toHaveLength(2);
  });

  test("so is a WebSocket", async () => {
    const { secured, lines, controlPlane } = await setup();
    const handshake = ["Upgrade: websocket", "Connection: Upgrade"];
    const sent = lines("GET /a HTTP/1.1", "bank.example", ...handshake);
    expect(await exchanged(await secured("bank.example:443"), sent)).toMatch(/^HTTP\/1\.1 101 .*over the socket$/s);
    expect(controlPlane.decisions()).toHaveLength(1);
  });

  test("so is a request without TLS, as clients send it that tunnel plain HTTP too", async () => {
    const { port, request, upstream, controlPlane } = await setup();
    const { socket, closed } = await openedTunnel(port, "bank.example:80");
    socket.write(request("GET /a HTTP/1.1", "bank.example"));
    expect(await closed()).toMatch(/HTTP\/1\.1 200 OK.*Bearer ey$/s);
    expect([upstream.received.length, controlPlane.decisions().length]).toEqual([1, 1]);
  });

  test("so are MCP messages and their event streams", async () => {
    const { secured, request, upstream, controlPlane } = await setup();
    controlPlane.policies.set("mcp:tools/add", {});
    const message = JSON.stringify({
      jsonrpc: "2.0",
      id: 7,
      method: "tools/call",
      params: { name: "add", arguments: {} },
    });
    const type = ["Content-Type: application/json", "Accept: text/event-stream"];
    const sent = request("POST /mcp HTTP/1.1", "tools.example", ...type, `Content-Length: ${message.length}`) + message;
    const answer = await exchanged(await secured("tools.example:443"), sent);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK.*data: \{"id":7\}\n\n/s);
    expect(upstream.received).toEqual([`POST /mcp ${upstream.host} ${message}`]);
    expect(controlPlane.decisions()).toMatchObject([{ target: "mcp:tools/add" }]);
  });

  test("a tunnel that ends without a request is counted, as of a client that does not trust the authority", async () => {
    const { port, adminUrl, secured, request, upstream } = await setup();
    await exchanged(await secured("bank.example:443"), request("GET /a HTTP/1.1", "bank.example"));
    await expect(securedTunnel(port, "bank.example:443", { ca: upstream.ca })).rejects.toThrow(/certificate/);
    const hosts = async () => (await fetch(`${adminUrl}/__svc/hosts`)).json();
    await waitUntil("the count", async () => JSON.stringify(await hosts()).includes("unused"));
    expect(await hosts()).toEqual({ hosts: [{ host: "bank.example", outcome: "unused", count: 1 }], dropped: 0 });
  });

  test("a call inside that is under way ends by a pushed act, and the tunnel with it", async () => {
    const pushed = { SVC_PEP_ENFORCEMENT_TOKEN: enforcementToken };
    const { secured, lines, controlPlane, sessionId } = await setup({ redecideMs: 3_600_000 }, pushed);
    await waitUntil("the push to be followed", () => controlPlane.pushed.length === 1);
    const tunnel = await secured("bank.example:443");
    let received = "";
    tunnel.on("error", () => {}).on("data", (piece) => (received += piece));
    tunnel.write(lines("GET /a HTTP/1.1", "bank.example", "Accept: application/x-ndjson"));
    await waitUntil("the answer to begin", () => received.includes("{}"));
    controlPlane.policies.set("http:bank/a", { denyReason: "SESSION_REVOKED" });
    controlPlane.push(pushText("session_revoked", { session_id: sessionId }));
    await waitUntil("the tunnel to close", () => tunnel.closed);
    // A cut answer has no last chunk.
    expect(received).not.toMatch(/0\r\n\r\n$/);
  });

  test("a denied request is blocked", async () => {
    const { secured, request, upstream, controlPlane } = await setup();
    controlPlane.policies.set("http:bank/a", { denyReason: "TARGET_BLOCKED" });
    const answer = await exchanged(await secured("bank.example:443"), request("GET /a HTTP/1.1", "bank.example"));
    expect(answer).toMatch(/^HTTP\/1\.1 403 .*x-svc-blocked: policy.*TARGET_BLOCKED/is);
    expect(upstream.received).toEqual([]);
  });

  test("a host whose route says connect keeps its tunnel, with one decision and TLS of its own", async () => {
    const { port, lines, upstream, controlPlane } = await setup();
    const agent = await rawConnection(port, lines("CONNECT site.example:443 HTTP/1.1", "site.example:443"));
    await agent.until(/^HTTP\/1\.1 200 /);
    agent.socket.write("GET / HTTP/1.1\r\nHost: site.example\r\n\r\n");
    // The upstream's TLS, and no HTTP of ours, answers bytes that are no handshake.
    expect(await agent.closed()).not.toContain("x-svc-blocked");
    expect(upstream.received).toEqual([]);
    expect(controlPlane.decisions()).toMatchObject([{ target: "http:site/tunnel" }]);
  });

  test("without the setting a tunnel to a listed host is refused", async () => {
    const { port, request } = await setupOff();
    const agent = await rawConnection(port, request("CONNECT bank.example:443 HTTP/1.1", "bank.example:443"));
    expect(await agent.closed()).toMatch(/^HTTP\/1\.1 404 .*unresolvable_call/s);
  });
});

async function setupOff() {
  const running = await startedPep({
    upstreams: [{ name: "bank", url: "http://127.0.0.1:9", hosts: ["bank.example"], routes }],
  });
  const { authorization } = await running.session();
  const request = (first: string, host: string) =>
    [first, `Host: ${host}`, `Authorization: ${authorization}`, "", ""].join("\r\n");
  return { ...running, request };
}

describe("a hostile client in a tunnel reaches nothing", () => {
  test.each([
    ["whose Host is another listed host", "GET /a HTTP/1.1", "other.example", 421],
    ["whose Host is another port of the host", "GET /a HTTP/1.1", "bank.example:8443", 421],
    ["whose Host is the enforcement point's own", "GET /__svc/metrics HTTP/1.1", "OWN", 421],
    ["that names another host in absolute form", "GET https://other.example/a HTTP/1.1", "bank.example", 421],
    [
      "that names the host in absolute form and another in Host",
      "GET https://bank.example/a HTTP/1.1",
      "other.example",
      421,
    ],
    ["for our own paths", "GET /__svc/metrics HTTP/1.1", "bank.example", 404],
    ["for a tunnel within the tunnel", "CONNECT other.example:443 HTTP/1.1", "other.example:443", 404],
    ["that asks for the tunnel again", "CONNECT bank.example:443 HTTP/1.1", "bank.example:443", 404],
    ["with a path that servers read differently", "GET /x/../a HTTP/1.1", "bank.example", 404],
  ])("by a request %s", async (_name, first, host, status) => {
    const { secured, request, upstream, controlPlane, port } = await setup();
    const sent = request(first, host.replace("OWN", `127.0.0.1:${port}`));
    const answer = await exchanged(await secured("bank.example:443"), sent);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*x-svc-blocked: unresolvable_call`, "is"));
    expect(answer).not.toContain("svc_pep_calls_total");
    expect(upstream.received).toEqual([]);
    expect(controlPlane.decisions()).toEqual([]);
  });

  test("by two hosts", async () => {
    const { secured, request, upstream } = await setup();
    const sent = request("GET /a HTTP/1.1", "bank.example", "Host: other.example");
    expect(await exchanged(await secured("bank.example:443"), sent)).toMatch(/^HTTP\/1\.1 400 /);
    expect(upstream.received).toEqual([]);
  });

  test("by a handshake that names another host than the tunnel, listed or not", async () => {
    const { port } = await setup();
    // This client verifies nothing: the enforcement point itself must refuse.
    const secured = (servername: string) => securedTunnel(port, "bank.example:443", { servername });
    for (const name of ["other.example", "evil.example"]) await expect(secured(name)).rejects.toThrow();
    await expect(secured("BANK.example")).resolves.toBeDefined();
  });

  test("by HTTP/2, whether it is negotiated or just sent", async () => {
    const { port, secured, upstream } = await setup();
    await expect(secured("bank.example:443", { alpn: ["h2"] })).rejects.toThrow(/alert|closed|ECONNRESET/i);
    const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    expect(await exchanged(await secured("bank.example:443"), preface)).toMatch(/^HTTP\/1\.1 505 /);
    const plain = await openedTunnel(port, "bank.example:443");
    plain.socket.write(preface);
    expect(await plain.closed()).toMatch(/HTTP\/1\.1 505 /);
    expect(upstream.received).toEqual([]);
  });

  test.each([
    ["sends nothing", ""],
    ["begins a handshake and stops", "\x16\x03\x01\x02\x00\x01"],
    ["sends half a request", "GET /a HTTP/1.1\r\nHost: ba"],
    ["sends what is no HTTP", "SSH-2.0-OpenSSH_9.2\r\n"],
  ])("if it %s: its connection ends, and its slot is free again", async (_name, bytes) => {
    // Longer than a second tunnel takes on a busy machine.
    const { port } = await setup({ agentHeadersMs: 1_000, maxStreams: 1 });
    const first = await openedTunnel(port, "bank.example:443");
    expect((await openedTunnel(port, "bank.example:443")).answer).toMatch(/^HTTP\/1\.1 503 /);
    first.socket.write(bytes, "latin1");
    await first.closed();
    await waitUntil("the slot", async () => (await openedTunnel(port, "bank.example:443")).answer.includes(" 200 "));
  });

  test("if it opens tunnels to thousands of hosts: each is refused, few are kept in the list, none gets a certificate", async () => {
    const { port, adminUrl, secured, request } = await setup();
    const many = Array.from({ length: 1_200 }, (_, at) => `CONNECT ${at}.evil.example:443 HTTP/1.1`);
    for (let at = 0; at < many.length; at += 100) {
      const opened = many
        .slice(at, at + 100)
        .map(async (line) => (await rawConnection(port, `${line}\r\nHost: x\r\n\r\n`)).closed());
      for (const answer of await Promise.all(opened)) expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    }
    const { hosts, dropped } = (await (await fetch(`${adminUrl}/__svc/hosts`)).json()) as {
      hosts: object[];
      dropped: number;
    };
    expect([hosts.length, dropped]).toEqual([1_000, 200]);
    expect(await exchanged(await secured("bank.example:443"), request("GET /a HTTP/1.1", "bank.example"))).toMatch(
      / 200 OK/,
    );
  });

  test("if it leaves: its slot is free again", async () => {
    const { port, secured } = await setup({ maxStreams: 1 });
    (await secured("bank.example:443")).destroy();
    await waitUntil("the slot", async () => (await openedTunnel(port, "bank.example:443")).answer.includes(" 200 "));
  });
});
