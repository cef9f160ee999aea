import { describe, expect, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [
  { methods: ["GET"], path: "/read", target: "http:ledger/read", data_class: "finance" },
  { methods: ["POST"], path: "/write", target: "http:ledger/write", data_class: "finance" },
];
const chat = { name: "chat", protocol: "mcp", data_class: "docs" };

async function setup(undecided: "block" | "forward" = "block") {
  const upstream = await startedUpstream();
  const running = await startedPep({
    upstreams: [
      { name: "ledger", url: upstream.url, routes },
      { ...chat, url: `${upstream.url}/mcp` },
      { name: "strict", url: upstream.url, mode: "enforce", routes },
    ],
    settings: { SVC_PEP_MODE: "observe", SVC_PEP_OBSERVE_UNDECIDED: undecided },
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
    expect((await fetch(`${url}/ledger/other`, { headers })).status).toBe(404);
    down(controlPlane);
    expect((await fetch(`${url}/ledger/read`, { headers })).status).toBe(503);
    expect(upstream.received).toHaveLength(0);
  });

  describe("with undecided calls forwarded", () => {
    test("calls without a token, a route or a control plane are forwarded, each with a warning, with the agent's own Authorization", async () => {
      const { url, session, upstream, controlPlane, metric, logs } = await setup("forward");
      const headers = await session();
      expect((await fetch(`${url}/ledger/read`, { headers: { authorization: "Basic eDp5" } })).status).toBe(200);
      expect((await fetch(`${url}/ledger/other?x`, { headers })).status).toBe(200);
      down(controlPlane);
      expect((await fetch(`${url}/ledger/write`, { method: "POST", headers, body: "plain" })).status).toBe(200);
      expect(upstream.received.map(({ headers }) => headers.authorization)).toEqual([
        "Basic eDp5",
        undefined,
        undefined,
      ]);
      expect(upstream.received.flatMap(({ headers }) => ofOurs(headers))).toEqual([]);
      expect(await upstream.received[2]?.body).toBe("plain");
      expect(await metric('svc_pep_calls_total{outcome="observed_would_block"}')).toBe(3);
      expect(logs.filter(({ level }) => level === "warn")).toHaveLength(3);
    });

    test("an ambiguous path, an unconfigured host and a call of an enforcing upstream are never forwarded", async () => {
      const { url, session, upstream } = await setup("forward");
      const headers = await session();
      expect((await fetch(`${url}/ledger/a%2fb`, { headers })).status).toBe(404);
      expect((await fetch(`${url}/nobody/read`, { headers })).status).toBe(404);
      expect((await fetch(`${url}/strict/read`)).status).toBe(401);
      expect(upstream.received).toHaveLength(0);
    });

    test("a call whose body cannot be bound is blocked: its record is an allow", async () => {
      const { url, session, upstream } = await setup("forward");
      const response = await fetch(`${url}/ledger/write`, { method: "POST", headers: await session(), body: "[]" });
      expect(response.status).toBe(422);
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
