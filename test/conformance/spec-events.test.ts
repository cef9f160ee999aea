import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import type { Answer } from "./src/api.ts";
import { ledgerForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";

const { api, name } = await ledgerForTests();
const scope = name("events");
await registerLedger(api, scope);
const hops = ledgerHops(scope);
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const audit = (path: string): Promise<Answer> => api.call("GET", `/v1/audit/${path}`, { bearer: api.tokens.audit });
const admin = (method: string, path: string, body?: object) =>
  api.call(method, path, { bearer: api.tokens.admin, ...(body && { body }) });

describe("administrative events", () => {
  test("list a session's start and end, newest first, each with its actor", async () => {
    const { session, token } = await api.consent(scope);
    const [root] = (await api.renew(token, 1)).body.tokens;
    const delegated = await api.hop(session, root, hops.planner);
    await waitUntil("a renewal", async () => (await api.renew(delegated.token, 1)).status === 200);
    await admin("POST", `/v1/sessions/${session}/revoke`, { reason: "done with it" });
    const event = (facts: object) => ({
      event_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ts: timestamp,
      actor: expect.any(String),
      session_id: session,
      agent: null,
      reason: null,
      details: expect.any(Object),
      ...facts,
    });
    const whole = (await audit(`events?session_id=${session}`)).body.data;
    expect(whole).toEqual([
      event({ kind: "session_revoked", reason: "done with it" }),
      event({ kind: "token_renewed", actor: hops.planner.target, agent: hops.planner.target }),
      event({ kind: "token_renewed", actor: "ada" }),
      event({ kind: "consent_granted" }),
    ]);
    const renewals = await audit(`events?session_id=${session}&kind=token_renewed`);
    expect(renewals.body.data).toEqual(whole.slice(1, 3));
    const consents = await audit(`events?session_id=${session}&kind=consent_granted`);
    expect(consents.body.data).toEqual(whole.slice(3));
    const first = await audit(`events?session_id=${session}&limit=1`);
    const rest = await audit(`events?session_id=${session}&limit=1&cursor=${first.body.page.next_cursor}`);
    expect([...first.body.data, ...rest.body.data]).toEqual(whole.slice(0, 2));
    expect((await audit(`events?session_id=${session}&until=2020-01-01T00:00:00Z`)).body.data).toEqual([]);
  });

  test("list an agent's override, submission and revocation", async () => {
    const agent = name("agent");
    const manifest = { scopes: { [name("scope")]: { hop_budget: 1 } } };
    const { agent_id } = (await admin("POST", "/v1/agents", { name: agent, manifest, override: { reason: "read" } }))
      .body;
    await admin("POST", "/v1/manifests", { agent, manifest });
    await admin("POST", `/v1/agents/${agent_id}/revoke`, { reason: "leaked key" });
    const { data } = (await audit(`events?agent=${agent}`)).body;
    expect(data).toMatchObject([
      { kind: "agent_revoked", reason: "leaked key" },
      { kind: "manifest_submitted", details: { status: "needs_review", manifest_version: 2 } },
      { kind: "manifest_overridden", reason: "read", details: { manifest_version: 1 } },
    ]);
  });

  test.each([
    "kind=coffee_made",
    "agent=No+Agent",
    "since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z",
    "since=10000-01-01T00:00:00Z",
    "kind=block_set&kind=block_set",
    "cursor=AAAA",
    "limit=0",
  ])("are refused %s", async (query) => {
    const { status, body } = await audit(`events?${query}`);
    expect([status, body.error.code]).toEqual([400, "invalid_request"]);
  });
});

describe("an explanation", () => {
  const explanation = async (action: string) => (await audit(`actions/${action}/explanation`)).body;

  test("of an allow shows the ten checks in order, all passed, without a remedy", async () => {
    const { session, clerk } = await clerkSession(api, scope);
    const { action } = await api.hop(session, clerk.token, hops.read);
    const body = await explanation(action);
    expect(body).toMatchObject({ action_id: action, decision: "allow", deny_reason: null, remedy: null });
    expect(body.checks.map(({ check, passed }: { check: string; passed: boolean }) => `${check} ${passed}`)).toEqual([
      "session true",
      "revocation true",
      "identity true",
      "block true",
      "path true",
      "hop_budget true",
      "target true",
      "data_class true",
      "narrowing true",
      "taint true",
    ]);
  });

  test("of a deny shows the first failed check, the recorded facts, and the change that would admit it", async () => {
    const { session, clerk } = await clerkSession(api, scope);
    const denied = await api.authorize(session, clerk.token, { ...hops.read, target: "http:no/where" });
    const body = await explanation(denied.body.action_id);
    const [failed] = body.checks.filter(({ passed }: { passed: boolean }) => !passed);
    expect(failed).toMatchObject({ check: "target", facts: { caller: hops.clerk.target, declared: false } });
    expect(body.remedy).toContain(`"tools" under scope "${scope}" in the manifest of "${hops.clerk.target}"`);
  });

  test.each(["01a00000-0000-7000-8000-000000000000", "x", "%27"])("of %s is not found", async (id) => {
    const answer = await audit(`actions/${id}/explanation`);
    expect([answer.status, answer.body.error.code]).toEqual([404, "action_not_found"]);
  });
});

describe("the list of calls that observe mode would have blocked", () => {
  test("groups the scope's observed denies with a count (needs observe mode admitted)", async (context) => {
    const { session, clerk } = await clerkSession(api, scope);
    const [one, other, enforced] = (await api.renew(clerk.token, 3)).body.tokens;
    const nowhere = { ...hops.read, target: `http:${scope}/nowhere` };
    const first = await api.authorize(session, one, nowhere, { enforced: false });
    if (first.status === 400) context.skip("needs observe mode admitted for every scope");
    const last = await api.authorize(session, other, nowhere, { enforced: false });
    await api.authorize(session, enforced, nowhere);
    const group = {
      agent: hops.clerk.target,
      target: nowhere.target,
      target_kind: "tool",
      data_class: nowhere.data_class,
      deny_reason: "TARGET_NOT_DECLARED",
      count: 2,
      first_ts: first.body.decided_at,
      last_ts: last.body.decided_at,
      now: { status: "open", scopes: [{ scope, since_version: null, deny_reason: "TARGET_NOT_DECLARED" }] },
    };
    expect((await audit(`would-block?scope=${scope}`)).body).toEqual({
      data: [group],
      page: { next_cursor: null, limit: 50 },
    });
    expect((await audit(`would-block?scope=${name("another")}`)).body.data).toEqual([]);
    expect((await audit(`would-block?scope=${scope}&until=2020-01-01T00:00:00Z`)).body.data).toEqual([]);
  });

  test.each(["scope=", "limit=0", "since=yesterday", "agent=a", "cursor=AAAA"])("is refused %s", async (query) => {
    const { status, body } = await audit(`would-block?${query}`);
    expect([status, body.error.code]).toEqual([400, "invalid_request"]);
  });
});
