import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import type { Limits } from "../src/limits.ts";
import { at, authorize, cut, exchange, hang, mint, renew, reply } from "./support/answers.ts";
import type { Override } from "./support/control-plane.ts";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [
  { methods: ["GET"], path: "/read", target: "http:ledger/read", data_class: "finance" },
  { methods: ["POST"], path: "/write", target: "http:ledger/write", data_class: "finance" },
];

/** For a control plane that never responds. */
const brief = { stepMs: 2_000, hopMs: 6_000 };

async function setup(
  mode: "enforce" | "observe" = "enforce",
  settings: Record<string, string> = {},
  limits: Partial<Limits> = {},
) {
  const upstream = await startedUpstream();
  const running = await startedPep({
    upstreams: [{ name: "ledger", url: upstream.url, mode, routes }],
    limits,
    settings,
  });
  running.controlPlane.policies.set("http:ledger/read", {});
  running.controlPlane.policies.set("http:ledger/write", { privileged: true });
  return { ...running, upstream };
}

const envelope = (code: string, details?: object) =>
  JSON.stringify({ error: { code, message: "x" }, ...(details && { details }) });
const oauth = (error: string, more: object = {}) => JSON.stringify({ error, error_description: "x", ...more });

/** A 400 about one member of the request. */
const about = (path: string) => envelope("invalid_request", { issues: [{ path, message: "x" }] });
const page = "<html><body>login</body></html>";
const almostAllow = {
  decision: "allow",
  deny_reason: null,
  recoverable: false,
  enforced: true,
  hop: 1,
  acting_agent: "a",
  target: "http:ledger/read",
  target_kind: "tool",
  data_class: "finance",
  privileged: false,
  transaction_required: false,
  taint: "trusted_internal",
  taint_source: null,
  policy_version: 1,
  guarantee_level: "full",
  decided_at: "2026-01-01T00:00:00.000Z",
};
const allow = JSON.stringify({ action_id: "a", ...almostAllow });

describe("cases 68 and 69, against a control plane double: any other response blocks, and no byte goes upstream", () => {
  test.each<[string, string, number, Override, Partial<Limits>?]>([
    ["decide cuts the connection", "pdp_unreachable", 503, at(authorize, cut)],
    ["decide hangs", "pdp_unreachable", 503, at(authorize, hang), brief],
    ["decide fails", "pdp_unreachable", 503, at(authorize, reply(500, envelope("internal")))],
    ["decide is overloaded", "pdp_unreachable", 503, at(authorize, reply(503, envelope("database_unavailable")))],
    ["decide asks for patience", "other", 503, at(authorize, reply(429, envelope("rate_limited")))],
    ["a gateway asks for patience", "other", 503, at(authorize, reply(429, page, "text/html"))],
    ["decide accepts no proof", "unauthorized", 401, at(authorize, reply(400, about("actor_token")))],
    ["decide refuses otherwise", "other", 500, at(authorize, reply(400, envelope("invalid_request")))],
    ["decide is no route there", "pdp_unreachable", 503, at(authorize, reply(404, envelope("route_not_found")))],
    ["decide answers a page", "pdp_unreachable", 503, at(authorize, reply(200, page, "text/html"))],
    ["decide answers half a body", "pdp_unreachable", 503, at(authorize, reply(200, allow.slice(0, -9)))],
    ["decide answers an empty body", "pdp_unreachable", 503, at(authorize, reply(200, ""))],
    ["decide redirects", "pdp_unreachable", 503, at(authorize, reply(307, allow))],
    [
      "decide answers about another target",
      "pdp_unreachable",
      503,
      at(authorize, reply(200, allow.replace("/read", "/other"))),
    ],
    [
      "decide answers about another class",
      "pdp_unreachable",
      503,
      at(authorize, reply(200, allow.replace('"finance"', '"f"'))),
    ],
    [
      "decide answers for observe mode",
      "pdp_unreachable",
      503,
      at(authorize, reply(200, allow.replace('"enforced":true', '"enforced":false'))),
    ],
    [
      "decide allows with a reason",
      "pdp_unreachable",
      503,
      at(authorize, reply(200, allow.replace('"deny_reason":null', '"deny_reason":"TAINT_BLOCKED"'))),
    ],
    ["decide answers a megabyte", "pdp_unreachable", 503, at(authorize, reply(200, " ".repeat(2 ** 20)))],
    ["decide knows no such bearer", "unauthorized", 401, at(authorize, reply(401, envelope("unauthorized")))],
    ["the decision has no record", "audit_unavailable", 503, at(authorize, reply(503, envelope("audit_unavailable")))],
    ["the allow names no record", "audit_unavailable", 503, at(authorize, reply(200, JSON.stringify(almostAllow)))],
    ["exchange cuts the connection", "exchange_unreachable", 503, at(exchange, cut)],
    ["exchange hangs", "exchange_unreachable", 503, at(exchange, hang), brief],
    ["exchange asks for patience", "other", 503, at(exchange, reply(429, oauth("slow_down")))],
    ["renewal asks for patience", "other", 503, at(renew, reply(429, envelope("rate_limited")))],
    ["renewal accepts no proof", "unauthorized", 401, at(renew, reply(400, about("actor_token")))],
    ["renewal cuts the connection", "exchange_unreachable", 503, at(renew, cut)],
    ["exchange answers a page", "exchange_unreachable", 503, at(exchange, reply(200, page, "text/html"))],
    ["the guard is unavailable", "exchange_unreachable", 503, at(exchange, reply(503, oauth("invalid_grant")))],
    ["exchange accepts no token or proof", "unauthorized", 401, at(exchange, reply(400, oauth("invalid_request")))],
    ["the allow no longer holds", "policy", 403, at(exchange, reply(403, oauth("invalid_target")))],
    ["the allow or token was spent", "unauthorized", 401, at(exchange, reply(400, oauth("invalid_grant")))],
  ])("%s: %s", async (_name, cause, status, override, limits) => {
    const { url, session, upstream, controlPlane, metric } = await setup("enforce", {}, limits);
    controlPlane.override = override;
    const response = await fetch(`${url}/ledger/read`, { headers: await session() });
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([status, cause]);
    expect(response.headers.get("retry-after")).toBe(status === 503 ? "1" : null);
    expect(await response.json()).toMatchObject({ error: { code: cause } });
    expect(upstream.received).toHaveLength(0);
    expect(await metric(`svc_pep_blocks_total{cause="${cause}"}`)).toBe(1);
    expect(await metric('svc_pep_calls_total{outcome="blocked"}')).toBe(1);
  });

  test.each<[string, string, number, Override, Partial<Limits>?]>([
    ["mint hangs", "mint_unreachable", 503, at(mint, hang), brief],
    ["mint asks for patience", "other", 503, at(mint, reply(429, envelope("rate_limited")))],
    ["mint accepts no proof", "unauthorized", 401, at(mint, reply(400, about("actor_token")))],
    ["mint accepts no token", "unauthorized", 401, at(mint, reply(401, envelope("unauthorized")))],
    ["mint answers a page", "mint_unreachable", 503, at(mint, reply(200, page, "text/html"))],
    ["mint answers another action's token", "mint_unreachable", 503, at(mint, reply(200, allow))],
    ["the action was minted before", "other", 500, at(mint, reply(409, envelope("already_minted")))],
    ["the parameters cannot be bound there", "unbindable", 422, at(mint, reply(422, envelope("params_unbindable")))],
    [
      "the verdict has changed",
      "policy",
      403,
      at(mint, reply(403, envelope("mint_refused", { deny_reason: "TAINT_BLOCKED" }))),
    ],
  ])("%s: %s", async (_name, cause, status, override, limits) => {
    const { url, session, upstream, controlPlane } = await setup("enforce", {}, limits);
    controlPlane.override = override;
    const response = await fetch(`${url}/ledger/write`, { method: "POST", headers: await session(), body: "{}" });
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([status, cause]);
    expect(upstream.received).toHaveLength(0);
  });

  test.each([
    ["audience", { aud: "http:ledger/other" }],
    ["scope", { scope: "finance.all" }],
    ["hop", { hop: 3 }],
    ["subject", { sub: "somebody else" }],
    ["session", { sessionId: "another" }],
    ["action", { actionId: "another" }],
  ])("an exchanged token of another %s is exchange_unreachable", async (_name, change) => {
    const { url, session, upstream, controlPlane } = await setup();
    const headers = await session();
    controlPlane.override = ({ path, body }, response) => {
      if (path !== exchange) return undefined;
      const form = new URLSearchParams(body);
      void controlPlane.narrowed(form, change).then((access_token) => {
        const rest = { issued_token_type: form.get("subject_token_type"), token_type: "Bearer", expires_in: 60 };
        reply(200, JSON.stringify({ access_token, ...rest }))(response);
      });
      return true;
    };
    const response = await fetch(`${url}/ledger/read`, { headers });
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([503, "exchange_unreachable"]);
    expect(upstream.received).toHaveLength(0);
  });

  test("calls are blocked while the control plane is down, and allowed after it returns", async () => {
    const { url, session, controlPlane } = await setup();
    const headers = await session();
    const call = async () => (await fetch(`${url}/ledger/read`, { headers })).status;
    expect(await call()).toBe(200);
    controlPlane.override = (_asked, response) => {
      response.destroy();
      return true;
    };
    expect(await call()).toBe(503);
    controlPlane.override = undefined;
    // A renewal of that time may have been lost too.
    await waitUntil("calls to be allowed", async () => (await call()) === 200);
  });

  test("the three steps together take no longer than their shared time budget", async () => {
    // A step alone may take longer than this test, and the decision is made in time on a busy machine too.
    const { url, session, controlPlane } = await setup("enforce", {}, { stepMs: 600_000, hopMs: 2_000 });
    const headers = await session();
    controlPlane.override = ({ path }) => path !== authorize || undefined;
    const response = await fetch(`${url}/ledger/write`, { method: "POST", headers, body: "{}" });
    expect(response.headers.get("x-svc-blocked")).toBe("exchange_unreachable");
  });
});

describe("a refusal that was understood is reported as one", () => {
  const patience = { "retry-after": "59" };
  test.each<[string, string, Override]>([
    ["decide", "GET", at(authorize, reply(429, envelope("rate_limited"), "application/json", patience))],
    ["the renewal", "GET", at(renew, reply(429, envelope("rate_limited"), "application/json", patience))],
    ["the exchange", "GET", at(exchange, reply(429, oauth("slow_down"), "application/json", patience))],
    ["the mint", "POST", at(mint, reply(429, envelope("rate_limited"), "application/json", patience))],
  ])("a 429 of %s hands on its Retry-After and pages no one", async (_name, method, override) => {
    const { url, session, controlPlane, metric } = await setup();
    controlPlane.override = override;
    const init = method === "POST" ? { method, body: "{}" } : {};
    const path = method === "POST" ? "write" : "read";
    const response = await fetch(`${url}/ledger/${path}`, { headers: await session(), ...init });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "59"]);
    expect(await response.json()).toMatchObject({
      error: { code: "other", message: expect.stringContaining("after 59 s") },
    });
    expect(await metric('svc_pep_blocks_total{cause="other"}')).toBe(1);
  });

  test("a scope that may not be observed is not configured, and the text names the setting", async () => {
    const { url, session, controlPlane } = await setup("observe");
    controlPlane.override = at(authorize, reply(400, about("enforced")));
    const response = await fetch(`${url}/ledger/read`, { headers: await session() });
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([404, "unresolvable_call"]);
    expect(await response.text()).toContain("SVC_OBSERVE_SCOPES");
  });

  test("a proof that is missing names the settings of the agent's key", async () => {
    const { url, session, controlPlane } = await setup();
    controlPlane.override = at(
      exchange,
      reply(400, oauth("invalid_request", { error_description: "actor_token is missing" })),
    );
    const response = await fetch(`${url}/ledger/read`, { headers: await session() });
    expect(response.status).toBe(401);
    expect(await response.text()).toContain("SVC_PEP_AGENT_KEY_FILE");
  });
});

describe("a call that does not reach its exchange leaves the agent's token unspent", () => {
  test.each<[string, Override | undefined, RequestInit]>([
    ["a deny", undefined, {}],
    ["a decision that fails", at(authorize, reply(500, envelope("internal"))), {}],
    ["a decision that is cut", at(authorize, cut), {}],
    ["a body that cannot be bound", undefined, { method: "POST", body: "[]" }],
  ])("%s", async (_name, override, init) => {
    const { url, session, controlPlane } = await setup();
    if (!init.body) controlPlane.policies.set("http:ledger/read", { denyReason: "TARGET_NOT_DECLARED" });
    controlPlane.override = override;
    const headers = await session();
    for (let n = 0; n < 3; n += 1) await fetch(`${url}/ledger/${init.body ? "write" : "read"}`, { headers, ...init });
    const decided = controlPlane.asked.filter(({ path }) => path === authorize);
    expect(new Set(decided.map((asked) => asked.headers.authorization))).toEqual(new Set([headers.authorization]));
    expect(controlPlane.countOf(renew)).toBe(0);
    expect(controlPlane.countOf(exchange)).toBe(0);
  });
});

test("an exchange that was never sent burns no token: twenty calls are decided with the same", async () => {
  const { url, session, controlPlane } = await setup();
  const headers = await session();
  const call = async () => (await fetch(`${url}/ledger/read`, { headers })).status;
  controlPlane.override = at(exchange, cut);
  // Five failures in a row open the circuit to the exchange: what it refuses is not sent.
  for (let n = 0; n < 5; n += 1) await call();
  const before = controlPlane.asked.length;
  for (let n = 0; n < 20; n += 1) expect(await call()).toBe(503);
  const decided = controlPlane.asked.slice(before).filter(({ path }) => path === authorize);
  expect(decided).toHaveLength(20);
  // The circuit lets one through in a second, and each of these may have been spent.
  expect(new Set(decided.map((asked) => asked.headers.authorization)).size).toBeLessThanOrEqual(8);
});

describe("a deny that the exchange or the mint records", () => {
  const recorded = "0197a000-0000-7000-8000-00000000000d";
  const late: [string, Override][] = [
    [
      "the exchange",
      at(exchange, reply(403, oauth("invalid_target", { error_description: "TAINT_BLOCKED", action_id: recorded }))),
    ],
    ["the mint", at(mint, reply(403, envelope("mint_refused", { deny_reason: "TAINT_BLOCKED", action_id: recorded })))],
  ];
  const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "write" } });

  test.each(late)("at %s is named by body and log, and never the allow before it", async (_name, override) => {
    const { url, session, controlPlane, logs } = await setup();
    controlPlane.override = override;
    const response = await fetch(`${url}/ledger/write`, { method: "POST", headers: await session(), body: "{}" });
    expect(await response.json()).toMatchObject({
      details: { action_id: recorded, deny_reason: "TAINT_BLOCKED", recoverable: false },
    });
    expect(logs.at(-1)).toMatchObject({ msg: "call blocked: policy", "authz.action_id": recorded });
  });

  test.each(late)("at %s is named in a JSON-RPC error", async (_name, override) => {
    const upstreams = [{ name: "files", url: "http://127.0.0.1:1/mcp", protocol: "mcp", data_class: "docs" }];
    const { url, session, controlPlane } = await startedPep({ upstreams });
    controlPlane.policies.set("mcp:files/write", { privileged: true });
    controlPlane.override = override;
    const headers = { ...(await session()), "content-type": "application/json" };
    const response = await fetch(`${url}/files`, { method: "POST", headers, body });
    expect(await response.json()).toMatchObject({
      id: 7,
      error: { data: { code: "policy", action_id: recorded, deny_reason: "TAINT_BLOCKED" } },
    });
  });

  test("at the exchange of an observed call is the record that its log line names", async () => {
    const { url, session, controlPlane, logs } = await setup("observe");
    controlPlane.override = late[0]?.[1];
    const response = await fetch(`${url}/ledger/write`, { method: "POST", headers: await session(), body: "{}" });
    expect(response.status).toBe(200);
    expect(logs.at(-1)).toMatchObject({ "authz.action_id": recorded });
  });
});

describe("the other causes", () => {
  test.each([
    ["a path without a route", "/ledger/other", "unresolvable_call", 404],
    ["an upstream nobody configured", "/nobody/read", "unresolvable_call", 404],
  ])("%s: %s is %s", async (_name, path, cause, status) => {
    const { url, session, upstream } = await setup();
    const response = await fetch(`${url}${path}`, { headers: await session() });
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([status, cause]);
    expect(upstream.received).toHaveLength(0);
  });

  test.each([
    ["a list", "[]"],
    ["a string", '"x"'],
    ["null", "null"],
    ["nothing", ""],
    ["a repeated member", '{"a":{"b":1,"b":2}}'],
    ["a number that becomes infinite", '{"a":1e400}'],
    ["an integer that loses digits", '{"a":9007199254740993}'],
    ["a lone surrogate", '{"a":"\\ud800"}'],
    ["a byte order mark", '\ufeff{"a":1}'],
    ["trailing bytes", '{"a":1}x'],
    ["deep nesting", `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
  ])("cases 27 to 31: %s is unbindable, and nothing is spent", async (_name, body) => {
    const { url, session, upstream, controlPlane } = await setup();
    const response = await fetch(`${url}/ledger/write`, { method: "POST", headers: await session(), body });
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([422, "unbindable"]);
    expect(controlPlane.countOf(exchange)).toBe(0);
    expect(upstream.received).toHaveLength(0);
  });

  test.each([
    ["compressed", { "content-encoding": "gzip" }],
    ["in another charset", { "content-type": "application/json; charset=utf-7" }],
  ])("a privileged body declared as %s is unbindable", async (_name, headers) => {
    const { url, session } = await setup();
    const sent = { ...(await session()), ...headers };
    const response = await fetch(`${url}/ledger/write`, { method: "POST", headers: sent, body: "{}" });
    expect(response.status).toBe(422);
  });

  test("case 30: __proto__ and constructor are plain members, sent as they are", async () => {
    const { url, session, upstream } = await setup();
    const body = '{"__proto__":{"admin":true},"constructor":{"prototype":{}}}';
    const response = await fetch(`${url}/ledger/write`, { method: "POST", headers: await session(), body });
    expect(response.status).toBe(200);
    expect(await upstream.received[0]?.body).toBe(body);
  });

  test("case 33: a privileged body of exactly the cap passes, and one byte more is body_too_large", async () => {
    const { url, session, upstream, controlPlane } = await setup("enforce", { SVC_PEP_BIND_CAP_BYTES: "100" });
    const headers = await session();
    const bodyOf = (bytes: number) => JSON.stringify({ a: "x".repeat(bytes - '{"a":""}'.length) });
    const post = (body: string | ReadableStream) =>
      fetch(`${url}/ledger/write`, { method: "POST", headers, body, duplex: "half" } as RequestInit);
    expect((await post(bodyOf(100))).status).toBe(200);
    const declared = await post(bodyOf(101));
    expect([declared.status, declared.headers.get("x-svc-blocked")]).toEqual([413, "body_too_large"]);
    const chunked = await post(new Blob([bodyOf(101)]).stream());
    expect(chunked.headers.get("x-svc-blocked")).toBe("body_too_large");
    expect(controlPlane.countOf(mint)).toBe(1);
    expect(upstream.received).toHaveLength(1);
  });
});
