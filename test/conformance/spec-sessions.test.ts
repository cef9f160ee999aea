import { beforeAll, describe, expect, test } from "vitest";
import { ledgerForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";
import { idsOf } from "./src/sessions.ts";

const { api, scope, name } = await ledgerForTests();
const hops = ledgerHops(scope);
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const read = (session: string) => api.call("GET", `/v1/sessions/${session}`, { bearer: api.tokens.audit });
const list = (query: string) => api.call("GET", `/v1/sessions?${query}`, { bearer: api.tokens.audit });
const revoke = (session: string, body?: object) =>
  api.call("POST", `/v1/sessions/${session}/revoke`, { bearer: api.tokens.admin, ...(body && { body }) });
const revokeAll = (body: object) => api.call("POST", "/v1/sessions/revoke", { bearer: api.tokens.admin, body });

describe("a session", () => {
  test("has the fields of its consent, without tokens", async () => {
    const { session, token, body } = await api.consent(scope, { user_sub: "grace" });
    const answer = await read(session);
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        session_id: session,
        status: "active",
        scope,
        user_sub: "grace",
        policy_version: body.policy_version,
        hop_budget: body.hop_budget,
        consented_by: expect.any(String),
        consented_at: timestamp,
        expires_at: body.expires_at,
        revoked_at: null,
        revoked_by: null,
        revoked_reason: null,
        taint_marks: [],
      },
    ]);
    expect(answer.text).not.toContain(token.split(".")[2]);
  });

  test("shows who was marked, by which target and when", async () => {
    const { session, clerk } = await clerkSession(api, scope);
    const { action } = await api.hop(session, clerk.token, hops.browse);
    const { target: source } = hops.browse;
    const mark = { taint: "untrusted_external", source, action_id: action, enforced: true, ts: timestamp };
    const { taint_marks: marks } = (await read(session)).body;
    expect(marks).toHaveLength(2);
    for (const agent of [hops.clerk.target, hops.planner.target]) expect(marks).toContainEqual({ agent, ...mark });
  });

  test("that was revoked is refused from the next decision on, and shows who ended it and why", async () => {
    const { session, token } = await api.consent(scope);
    // Decided before, so that a stale cache would show.
    expect((await api.authorize(session, token, hops.planner)).body.decision).toBe("allow");
    const first = await revoke(session, { reason: "left the company" });
    expect([first.status, first.body]).toMatchObject([
      200,
      { session_id: session, status: "revoked", revoked_at: timestamp, revoked_reason: "left the company" },
    ]);
    expect((await revoke(session, { reason: "again" })).body).toEqual(first.body);
    const answer = await api.authorize(session, token, hops.planner);
    expect(answer.body).toMatchObject({ decision: "deny", deny_reason: "SESSION_REVOKED", recoverable: false });
  });

  test.each(["01a00000-0000-7000-8000-000000000000", "x", "%27"])("%s is not found", async (session) => {
    for (const answer of [await read(session), await revoke(session)]) {
      expect([answer.status, answer.body.error.code]).toEqual([404, "session_not_found"]);
    }
  });
});

describe("sessions", () => {
  const user = name("user");
  let delegated: string;
  let elsewhere: string;
  let ended: string;
  beforeAll(async () => {
    const other = name("travel");
    await registerLedger(api, other);
    const consented = await api.consent(scope, { user_sub: user });
    delegated = consented.session;
    await api.hop(delegated, consented.token, hops.planner);
    elsewhere = (await api.consent(other, { user_sub: user })).session;
    ended = (await api.consent(scope, { user_sub: user })).session;
    await revoke(ended);
  });

  test("are listed newest first, page by page", async () => {
    const seen: string[] = [];
    for (let cursor = ""; ; ) {
      const page = await list(`user_sub=${user}&limit=2${cursor}`);
      seen.push(...idsOf(page));
      if (page.body.page.next_cursor === null) break;
      cursor = `&cursor=${encodeURIComponent(page.body.page.next_cursor)}`;
    }
    expect(seen).toEqual([ended, elsewhere, delegated]);
  });

  test("are filtered by scope, agent and status", async () => {
    const found = async (query: string) => idsOf(await list(`user_sub=${user}&${query}`));
    expect(await found(`scope=${scope}`)).toEqual([ended, delegated]);
    expect(await found("status=active")).toEqual([elsewhere, delegated]);
    expect(await found("status=revoked")).toEqual([ended]);
    expect(await found("status=expired")).toEqual([]);
    expect(await found(`agent=${hops.planner.target}`)).toEqual([delegated]);
    expect(await found(`agent=${hops.clerk.target}`)).toEqual([]);
    expect(await found("scope=%25")).toEqual([]);
  });

  test.each(["status=ended", "agent=NOT", "user_sub=", "limit=0", "cursor=x", "sub=ada"])(
    "are not listed with %s",
    async (query) => {
      const answer = await list(query);
      expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
    },
  );

  test.each([[{}], [{ reason: "x" }], [{ user: "ada" }], [{ status: "ended" }]])(
    "are not ended by %j, which has no filter",
    async (body) => {
      const answer = await revokeAll(body);
      expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
    },
  );

  test("are ended by a filter, and no others", async () => {
    const leaver = name("leaver");
    const [here, there] = [await api.consent(scope, { user_sub: leaver }), await api.consent(scope)];
    const answer = await revokeAll({ user_sub: leaver, scope, reason: "incident 7" });
    expect([answer.status, answer.body]).toEqual([200, { revoked: 1 }]);
    expect((await read(here.session)).body).toMatchObject({ status: "revoked", revoked_reason: "incident 7" });
    expect((await read(there.session)).body.status).toBe("active");
    expect((await revokeAll({ user_sub: leaver })).body).toEqual({ revoked: 0 });
  });
});
