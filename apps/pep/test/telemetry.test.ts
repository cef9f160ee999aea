import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [
  { methods: ["GET", "POST"], path: "/canary-path/*", target: "http:app/canary-target", data_class: "canary.class" },
  { methods: ["POST"], path: "/write", target: "http:app/write", data_class: "docs" },
];

async function setup() {
  const upstream = await startedUpstream((_request, response) => response.end("canary-response"));
  const running = await startedPep({ upstreams: [{ name: "canary-upstream", url: upstream.url, routes }] });
  running.controlPlane.policies.set("http:app/canary-target", {});
  running.controlPlane.policies.set("http:app/write", { privileged: true });
  return { ...running, upstream };
}

const seriesOf = (metrics: string) =>
  metrics
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.slice(0, line.lastIndexOf(" ")))
    .sort();

describe("case 71: telemetry reports calls without names", () => {
  test("no token, session, name, target, path, query or body is in metrics or logs", async () => {
    const { url, session, controlPlane, metrics, logs, reported } = await setup();
    const headers = { ...(await session()), "x-canary": "canary-header" };
    const call = (path: string, init: RequestInit = {}) => fetch(`${url}${path}`, { headers, ...init });
    await call("/canary-upstream/canary-path/x?q=canary-query", { method: "POST", body: "canary-body" });
    await call("/canary-upstream/write", { method: "POST", body: '{"a":"canary-param"}' });
    await call("/canary-upstream/write", { method: "POST", body: "canary-unbindable" });
    await call("/canary-upstream/canary-unrouted");
    await call("/canary-upstream/canary-path/x", { headers: { ...headers, authorization: "Bearer canary" } });
    controlPlane.policies.set("http:app/canary-target", {
      denyReason: "SCOPE_NOT_CONSENTED",
      consentableScopes: ["canary-scope"],
    });
    await call("/canary-upstream/canary-path/x");
    const shown = [await metrics(), ...logs.map((line) => JSON.stringify(line)), ...reported].join("\n");
    expect(logs.length).toBeGreaterThanOrEqual(6);
    expect(shown).not.toContain("canary");
    expect(shown).not.toContain(headers.authorization);
    expect(shown).not.toContain("eyJ");
  });

  test("lines name their session and record only once a decision has verified them", async () => {
    const { url, session, controlPlane, logs } = await setup();
    const headers = await session();
    controlPlane.policies.set("http:app/write", { denyReason: "TAINT_BLOCKED" });
    await fetch(`${url}/canary-upstream/write`, { method: "POST", headers, body: "{}" });
    await fetch(`${url}/canary-upstream/nothing`, { headers });
    expect(logs).toMatchObject([
      {
        level: "info",
        msg: "call blocked: policy",
        "authz.component": "pep",
        "authz.session_id": headers["x-svc-session"],
        "authz.action_id": expect.stringMatching(/^[0-9a-f-]{36}$/),
        "authz.hop": 1,
        trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      },
      { level: "info", msg: "call blocked: not configured" },
    ]);
    expect(logs[1]).not.toHaveProperty("authz.session_id");
  });

  test("a guardrail failure is a warning, an ordinary refusal is not", async () => {
    const { url, session, controlPlane, logs } = await setup();
    controlPlane.override = (_asked, response) => {
      response.destroy();
      return true;
    };
    await fetch(`${url}/canary-upstream/write`, { method: "POST", headers: await session(), body: "{}" });
    expect(logs.map(({ level }) => level)).toEqual(["warn"]);
  });

  test("no call adds a series", async () => {
    const { url, session, metrics } = await setup();
    const before = seriesOf(await metrics());
    const headers = await session();
    const name = fc.string({ unit: fc.constantFrom("a", "Z", "-", "\u001b", "\n", '"'), minLength: 1, maxLength: 12 });
    for (const random of fc.sample(name, { numRuns: 60, seed: 1 })) {
      const path = encodeURIComponent(random);
      await fetch(`${url}/canary-upstream/canary-path/${path}`, { method: "POST", headers, body: random });
      await fetch(`${url}/${path}`, { headers });
    }
    expect(seriesOf(await metrics())).toEqual(before);
  });
});

test("each stage and the overhead are observed once per call", async () => {
  const { url, session, metric } = await setup();
  await fetch(`${url}/canary-upstream/write`, { method: "POST", headers: await session(), body: "{}" });
  for (const stage of ["decide", "exchange", "mint", "upstream"]) {
    expect(await metric(`svc_pep_stage_duration_seconds_count{stage="${stage}"}`)).toBe(1);
  }
  expect(await metric("svc_pep_overhead_seconds_count")).toBe(1);
  expect(await metric("svc_pep_up")).toBe(1);
});

describe("case 73: trace context", () => {
  const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

  test("is forwarded under our own span to control plane and upstream; baggage is not", async () => {
    const { url, session, controlPlane, upstream } = await setup();
    const headers = { ...(await session()), traceparent: valid, tracestate: "vendor=1", baggage: "user=canary" };
    await fetch(`${url}/canary-upstream/canary-path/x`, { headers });
    const sent = upstream.received[0]?.headers ?? {};
    expect(sent.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/);
    expect(sent.tracestate).toBe("vendor=1");
    expect(sent.baggage).toBeUndefined();
    const decided = controlPlane.asked.find(({ path }) => path === "/v1/authorize");
    expect(decided?.headers.traceparent).toBe(sent.traceparent);
    expect(decided?.headers.baggage).toBeUndefined();
  });

  test.each([
    ["nothing", [], "absent"],
    ["all zeros", ["traceparent: 00-00000000000000000000000000000000-0000000000000000-00"], "malformed"],
    ["version ff", [`traceparent: ff${valid.slice(2)}`], "malformed"],
    ["capitals", [`traceparent: ${valid.toUpperCase()}`], "malformed"],
    ["two of them", [`traceparent: ${valid}`, `traceparent: ${valid}`], "malformed"],
    ["10 kB of state", [`traceparent: ${valid}`, `tracestate: a=${"x".repeat(10_000)}`], "malformed"],
    ["baggage", [`traceparent: ${valid}`, "baggage: a=b"], "baggage_dropped"],
  ])("%s changes no decision and is counted", async (_name, headers, cause) => {
    const { port, session, upstream, metric } = await setup();
    const { authorization, "x-svc-session": sessionId } = await session();
    const lines = [
      "GET /canary-upstream/canary-path/x HTTP/1.1",
      `Host: 127.0.0.1:${port}`,
      `Authorization: ${authorization}`,
    ];
    const agent = await rawConnection(port, [...lines, `X-Svc-Session: ${sessionId}`, ...headers, "", ""].join("\r\n"));
    await agent.until(/HTTP\/1\.1 200/);
    expect(upstream.received).toHaveLength(1);
    expect(await metric(`svc_trace_context_rejected_total{cause="${cause}"}`)).toBe(1);
  });
});
