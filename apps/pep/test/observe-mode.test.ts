import { describe, expect, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [
  { methods: ["GET"], path: "/read", target: "http:ledger/read", data_class: "finance" },
  { methods: ["POST"], path: "/write", target: "http:ledger/write", data_class: "finance" },
];
const chat = { name: "chat", protocol: "mcp", data_class: "docs" };

async function setup(undecided: "block" | "forward" = "block", unlisted?: "block" | "forward") {
  const upstream = await startedUpstream();
  const running = await startedPep({
    upstreams: [
      { name: "ledger", url: upstream.url, routes },
      { ...chat, url: `${upstream.url}/mcp` },
      { name: "strict", url: upstream.url, hosts: ["strict.internal"], mode: "enforce", routes },
      { name: "site", url: upstream.url, hosts: ["site.internal"], routes: [] },
    ],
    settings: {
      SVC_PEP_MODE: "observe",
      SVC_PEP_OBSERVE_UNDECIDED: undecided,
      ...(unlisted && { SVC_PEP_OBSERVE_UNLISTED: unlisted }),
    },
  });
  running.controlPlane.policies.set("http:ledger/read", {});
  running.controlPlane.policies.set("http:ledger/write", { privileged: true });
  return { ...running, upstream };
}

const ofOurs = (headers: object) =>
  Object.keys(headers).filter((name) => /^(x-svc-|txn-token|agent-identity)/.test(name));

describe("case 70: observe mode, against a double of the control plane", () => {
  test("a denied call is recorded as not enforced and forwarded once, without our credentials", async () => {
    const { url, session, upstream, controlPlane, metric, metrics } = await setup();
    controlPlane.policies.set("http:ledger/read", { denyReason: "TARGET_NOT_DECLARED" });
    const response = await fetch(`${url}/ledger/read`, { headers: await session() });
    expect(response.status).toBe(200);
    expect(controlPlane.decisions()).toMatchObject([{ enforced: false }]);
    expect(upstream.received).toHaveLength(1);
    expect(upstream.received[0]?.headers.authorization).toBeUndefined();
    expect(ofOurs(upstream.received[0]?.headers ?? {})).toEqual([]);
    expect(await metric('svc_pep_calls_total{outcome="observed_would_block"}')).toBe(1);
    expect(await metrics()).not.toMatch(/^svc_pep_blocks_total\{.*\} [1-9]/m);
  });

  test("an allowed call is forwarded with a narrowed token", async () => {
    const { url, session, upstream, metric } = await setup();
    await fetch(`${url}/ledger/read`, { headers: await session() });
    expect(upstream.received[0]?.headers.authorization).toMatch(/^Bearer ey/);
    expect(await metric('svc_pep_calls_total{outcome="allowed"}')).toBe(1);
  });

  test("a call that is denied at the exchange or the mint is forwarded too", async () => {
    const { url, session, upstream, controlPlane, metric } = await setup();
    const answers: Record<string, unknown> = {
      "/v1/token/exchange": { error: "invalid_target", error_description: "TAINT_BLOCKED" },
      "/v1/token/transaction": {
        error: { code: "mint_refused", message: "x" },
        details: { deny_reason: "TAINT_BLOCKED" },
      },
    };
    const headers = await session();
    for (const [where, body] of Object.entries(answers)) {
      controlPlane.override = ({ path }, response) => {
        if (path !== where) return undefined;
        response.writeHead(403, { "content-type": "application/json" }).end(JSON.stringify(body));
        return true;
      };
      const response = await fetch(`${url}/ledger/write`, { method: "POST", headers, body: '{"a":1}' });
      expect(response.status).toBe(200);
    }
    expect(upstream.received.map(({ headers }) => [headers.authorization, headers["txn-token"]])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
    expect(await Promise.all(upstream.received.map(({ body }) => body))).toEqual(['{"a":1}', '{"a":1}']);
    expect(await metric('svc_pep_calls_total{outcome="observed_would_block"}')).toBe(2);
  });

  test("an enforcing upstream blocks while others observe, and the gauge shows observing", async () => {
    const { url, session, upstream, controlPlane, metrics } = await setup();
    controlPlane.policies.set("http:ledger/read", { denyReason: "TARGET_NOT_DECLARED" });
    const response = await fetch(`${url}/strict/read`, { headers: await session() });
    expect(response.status).toBe(403);
    expect(controlPlane.decisions()).toMatchObject([{ enforced: true }]);
    expect(upstream.received).toHaveLength(0);
    expect(await metrics()).toMatch(/^svc_pep_info\{mode="observing",version="0.0.0-test"\} 1$/m);
  });

  const down = (controlPlane: Awaited<ReturnType<typeof setup>>["controlPlane"]) => {
    controlPlane.override = (_asked, response) => {
      response.destroy();
      return true;
    };
  };

  test("a call without a decision is blocked, since it has no record", async () => {
    const { url, session, upstream, controlPlane } = await setup();
    const headers = await session();
    expect((await fetch(`${url}/ledger/read`)).status).toBe(401);
    down(controlPlane);
    expect((await fetch(`${url}/ledger/read`, { headers })).status).toBe(503);
    expect(upstream.received).toHaveLength(0);
  });

  const unlistedCalls = async (adminUrl: string): Promise<{ unlisted: unknown[]; dropped: number }> => {
    const response = await fetch(`${adminUrl}/__svc/unlisted`);
    return (await response.json()) as Awaited<ReturnType<typeof unlistedCalls>>;
  };

  describe("a privileged body that cannot be bound is forwarded with the narrowed token and no transaction token:", () => {
    test.each([
      ["an array", {}, "[1]", "unbindable"],
      ["a form", { "content-type": "application/x-www-form-urlencoded" }, "to=mallory&amount=1", "unbindable"],
      ["300 kB", {}, JSON.stringify({ text: "x".repeat(300_000) }), "body_too_large"],
    ])("%s", async (_name, more, body, cause) => {
      const { url, adminUrl, session, upstream, controlPlane, metric, metrics, logs } = await setup();
      const headers = { ...(await session()), ...more };
      expect((await fetch(`${url}/ledger/write`, { method: "POST", headers, body })).status).toBe(200);
      const [received] = upstream.received;
      expect(received?.headers.authorization).toMatch(/^Bearer ey/);
      expect(received?.headers).not.toHaveProperty("txn-token");
      expect(await received?.body).toBe(body);
      expect(controlPlane.countOf("/v1/token/transaction")).toBe(0);
      expect(await metric('svc_pep_calls_total{outcome="observed_would_block"}')).toBe(1);
      expect(await metrics()).not.toMatch(/^svc_pep_blocks_total\{.*\} [1-9]/m);
      expect(logs).toMatchObject([{ level: "info", msg: expect.stringMatching(/although its body/) }]);
      expect(await unlistedCalls(adminUrl)).toEqual({
        unlisted: [{ upstream: "ledger", method: "POST", path: "/write", cause, count: 1 }],
        dropped: 0,
      });
    });
  });

  describe("a path that no route lists is forwarded without any token of ours", () => {
    test("and listed at the admin port as a template, without queries and identifiers", async () => {
      const { url, adminUrl, session, upstream, controlPlane, metric, logs } = await setup();
      const headers = await session();
      for (const path of ["/ledger/entries/17?secret=1", "/ledger/entries/18", "/ledger/v1/entries"]) {
        expect((await fetch(`${url}${path}`, { headers })).status).toBe(200);
      }
      expect((await fetch(`${url}/ledger/read`, { method: "PUT", headers, body: "x" })).status).toBe(200);
      expect(upstream.received.map(({ url: path }) => path)).toEqual([
        "/entries/17?secret=1",
        "/entries/18",
        "/v1/entries",
        "/read",
      ]);
      expect(upstream.received.flatMap(({ headers }) => [headers.authorization, ...ofOurs(headers)])).toEqual(
        Array(4).fill(undefined),
      );
      expect(controlPlane.asked).toEqual([]);
      expect(await metric('svc_pep_calls_total{outcome="observed_would_block"}')).toBe(4);
      expect(logs[0]).toMatchObject({ level: "info", msg: "call forwarded although nothing is configured for it" });
      const cause = "unresolvable_call";
      expect(await unlistedCalls(adminUrl)).toEqual({
        unlisted: [
          { upstream: "ledger", method: "GET", path: "/entries/:id", cause, count: 2 },
          { upstream: "ledger", method: "GET", path: "/v1/entries", cause, count: 1 },
          { upstream: "ledger", method: "PUT", path: "/read", cause, count: 1 },
        ],
        dropped: 0,
      });
      expect((await fetch(`${url}/__svc/unlisted`)).status).toBe(404);
    });

    test("a WebSocket and a tunnel too", async () => {
      const { port, session, upstream } = await setup();
      upstream.server.on("upgrade", (request, socket) => {
        const head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
        socket.end(`${head}${request.url} ${request.headers.authorization}`);
      });
      const { authorization, "x-svc-session": sessionId } = await session();
      const own = [`Authorization: ${authorization}`, `X-Svc-Session: ${sessionId}`];
      for (const [path, received] of [
        ["/ledger/live", "/live undefined"],
        ["/chat", "/mcp undefined"],
      ]) {
        const upgrade = ["Upgrade: websocket", "Connection: Upgrade", ...own, "", ""];
        const lines = [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, ...upgrade];
        expect(await (await rawConnection(port, lines.join("\r\n"))).closed()).toContain(received);
      }
      const tunnel = ["CONNECT site.internal:443 HTTP/1.1", "Host: site.internal:443", ...own, "", ""];
      await (await rawConnection(port, tunnel.join("\r\n"))).until(/^HTTP\/1\.1 200 /);
    });

    test("an MCP method without a data class too, by its name", async () => {
      const { url, adminUrl, session, upstream } = await setup();
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "resources/list" });
      const headers = { ...(await session()), "content-type": "application/json" };
      expect((await fetch(`${url}/chat`, { method: "POST", headers, body })).status).toBe(200);
      expect(await upstream.received[0]?.body).toBe(body);
      expect((await unlistedCalls(adminUrl)).unlisted).toMatchObject([{ upstream: "chat", path: "#resources/list" }]);
    });

    test.each(["/ledger/Read", "/ledger/read/", "/ledger/read;v=1", "/ledger/read.json"])(
      "also %s, which only some servers take for a route",
      async (path) => {
        const { url, adminUrl, session, upstream } = await setup();
        const headers = await session();
        expect((await fetch(`${url}${path}`, { headers })).status).toBe(200);
        expect(upstream.received).toMatchObject([{ url: path.replace("/ledger", "") }]);
        expect(upstream.received[0]?.headers.authorization).toBeUndefined();
        expect((await unlistedCalls(adminUrl)).unlisted).toMatchObject([{ upstream: "ledger", count: 1 }]);
        expect((await fetch(`${url}${path.replace("ledger", "strict")}`, { headers })).status).toBe(404);
      },
    );

    test("but not an ambiguous one, one of an enforcing upstream, and none without a bearer", async () => {
      const { url, adminUrl, session, upstream } = await setup();
      const headers = await session();
      const paths = ["/ledger/a%2fb", "/nobody/read", "/strict/other"];
      for (const path of paths) expect((await fetch(`${url}${path}`, { headers })).status).toBe(404);
      expect((await fetch(`${url}/ledger/other`)).status).toBe(401);
      expect(upstream.received).toHaveLength(0);
      // Of an enforcing upstream it is listed too.
      expect(await unlistedCalls(adminUrl)).toMatchObject({ unlisted: [{ upstream: "strict", path: "/other" }] });
    });

    test("with SVC_PEP_OBSERVE_UNLISTED=block it is blocked and listed, also where undecided calls are forwarded", async () => {
      const { url, adminUrl, session, upstream, metric } = await setup("forward", "block");
      expect((await fetch(`${url}/ledger/other`, { headers: await session() })).status).toBe(404);
      expect(upstream.received).toHaveLength(0);
      expect(await metric('svc_pep_blocks_total{cause="unresolvable_call"}')).toBe(1);
      expect((await unlistedCalls(adminUrl)).unlisted).toMatchObject([{ path: "/other", count: 1 }]);
    });
  });

  describe("with undecided calls forwarded", () => {
    test("calls without a token or a control plane are forwarded, each with a warning, with the agent's own Authorization", async () => {
      const { url, session, upstream, controlPlane, metric, logs } = await setup("forward");
      const headers = await session();
      expect((await fetch(`${url}/ledger/read`, { headers: { authorization: "Basic eDp5" } })).status).toBe(200);
      down(controlPlane);
      expect((await fetch(`${url}/ledger/write`, { method: "POST", headers, body: "plain" })).status).toBe(200);
      expect(upstream.received.map(({ headers }) => headers.authorization)).toEqual(["Basic eDp5", undefined]);
      expect(upstream.received.flatMap(({ headers }) => ofOurs(headers))).toEqual([]);
      expect(await upstream.received[1]?.body).toBe("plain");
      expect(await metric('svc_pep_calls_total{outcome="observed_would_block"}')).toBe(2);
      expect(logs.filter(({ level }) => level === "warn")).toHaveLength(2);
    });

    test("an ambiguous path, an unconfigured host and a call of an enforcing upstream are never forwarded", async () => {
      const { url, session, upstream } = await setup("forward");
      const headers = await session();
      expect((await fetch(`${url}/ledger/a%2fb`, { headers })).status).toBe(404);
      expect((await fetch(`${url}/nobody/read`, { headers })).status).toBe(404);
      expect((await fetch(`${url}/strict/read`)).status).toBe(401);
      expect(upstream.received).toHaveLength(0);
    });

    test("an MCP message without a target is forwarded whole", async () => {
      const { url, session, upstream } = await setup("forward");
      const body = '[{"jsonrpc":"2.0","id":1,"method":"ping"}]';
      const headers = { ...(await session()), "content-type": "application/json" };
      expect((await fetch(`${url}/chat`, { method: "POST", headers, body })).status).toBe(200);
      expect(await upstream.received[0]?.body).toBe(body);
    });
  });
});
