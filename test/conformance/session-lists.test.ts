import { describe, expect, test } from "vitest";
import { oneForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";
import { idsOf, sessionsOf } from "./src/sessions.ts";
import { asOwner } from "./src/stack.ts";

const stack = await oneForTests();
const { api } = stack;
const sessions = sessionsOf(stack);
const hops = ledgerHops("books");
await registerLedger(api, "travel");

describe("listing sessions", () => {
  test("returns each session once over all pages, newest first", async () => {
    const user = "pager";
    const made: string[] = [];
    for (let count = 0; count < 5; count++) made.unshift(await sessions.consentOf(user));
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page = await sessions.list(`user_sub=${user}&limit=2${cursor && `&cursor=${cursor}`}`);
      seen.push(...idsOf(page));
      cursor = page.body.page.next_cursor;
      // Newer than the page: it must not shift the next page.
      await sessions.consentOf(user);
    }
    expect(seen).toEqual(made);
  });

  test("filters by user, scope, agent and status, also together", async () => {
    const user = "filtered";
    const [active, ended] = [await sessions.consentOf(user), await sessions.consentOf(user)];
    const elsewhere = await sessions.consentOf(user, "travel");
    const expired = await sessions.insertExpired(user);
    await sessions.revoke(ended);
    const delegated = await api.consent("books", { user_sub: user });
    expect((await api.authorize(delegated.session, delegated.token, hops.clerk)).body.decision).toBe("deny");
    await api.hop(delegated.session, delegated.token, hops.planner);
    const found = async (query: string) => idsOf(await sessions.list(`user_sub=${user}&${query}`)).toSorted();
    const sorted = (...ids: string[]) => ids.toSorted();

    expect(await found("")).toEqual(sorted(active, ended, elsewhere, expired, delegated.session));
    expect(await found("scope=travel")).toEqual([elsewhere]);
    expect(await found("status=active")).toEqual(sorted(active, elsewhere, delegated.session));
    expect(await found("status=revoked")).toEqual([ended]);
    expect(await found("status=expired")).toEqual([expired]);
    expect(await found(`agent=${hops.planner.target}`)).toEqual([delegated.session]);
    expect(await found(`agent=${hops.clerk.target}`)).toEqual([]);
    expect(await found(`agent=${hops.planner.target}&scope=books&status=active`)).toEqual([delegated.session]);
    expect(await found("scope=%25")).toEqual([]);
  });

  test.each([
    "status=ended",
    "agent=NOT",
    "user_sub=",
    "limit=0",
    "cursor=x",
    "sub=ada",
    "status=active&status=active",
  ])("refuses %s", async (query) => {
    const answer = await sessions.list(query);
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
  });
});

describe("revoking sessions by a filter", () => {
  test("ends the active sessions that match, and no others", async () => {
    const user = "mallory";
    const [one, two, ended] = [
      await sessions.consentOf(user),
      await sessions.consentOf(user),
      await sessions.consentOf(user),
    ];
    const expired = await sessions.insertExpired(user);
    const elsewhere = await sessions.consentOf(user, "travel");
    await sessions.revoke(ended);
    expect((await sessions.revokeAll({ user_sub: user, scope: "books", reason: "incident 7" })).body).toEqual({
      revoked: 2,
    });
    const statuses = await Promise.all(
      [one, two, ended, expired, elsewhere].map(async (id) => (await sessions.read(id)).body),
    );
    expect(statuses.map(({ status }) => status)).toEqual(["revoked", "revoked", "revoked", "expired", "active"]);
    expect(await sessions.endsOf(one)).toEqual([{ actor: "admin", reason: "incident 7", details: {} }]);
    expect((await sessions.revokeAll({ user_sub: user, scope: "books" })).body).toEqual({ revoked: 0 });
  });

  test("by an agent ends every session with a delegation to it", async () => {
    const { session } = await clerkSession(api, "travel");
    const untouched = await sessions.consentOf("ada", "travel");
    expect((await sessions.revokeAll({ agent: ledgerHops("travel").clerk.target })).body).toEqual({ revoked: 1 });
    expect((await sessions.read(session)).body.status).toBe("revoked");
    expect((await sessions.read(untouched)).body.status).toBe("active");
  });

  test("by a status ends active sessions only", async () => {
    const session = await sessions.consentOf("lovelace");
    for (const status of ["revoked", "expired"]) {
      expect((await sessions.revokeAll({ user_sub: "lovelace", status })).body).toEqual({ revoked: 0 });
    }
    expect((await sessions.revokeAll({ user_sub: "lovelace", status: "active" })).body).toEqual({ revoked: 1 });
    expect((await sessions.read(session)).body.status).toBe("revoked");
  });

  test("ends 1,203 sessions at once, each with one event", async () => {
    const count = 1203;
    await asOwner(stack.database, async (sql) => {
      await sql`
        insert into session
          (session_id, user_sub, scope, policy_version, hop_budget, consented_by, consented_at, expires_at)
        select gen_random_uuid(), 'crowd', 'books', 1, 4, 'test', now(), now() + interval '1 hour'
        from generate_series(1, ${count})`;
      await sql`insert into session_state (session_id) select session_id from session where user_sub = 'crowd'`;
    });
    expect((await sessions.revokeAll({ user_sub: "crowd" })).body).toEqual({ revoked: count });
    const [records] = await asOwner(
      stack.database,
      (sql) => sql<{ ends: number; sessions: number }[]>`
        select count(*)::int as ends, count(distinct e.session_id)::int as sessions
        from administrative_event e join session s using (session_id)
        where s.user_sub = 'crowd' and e.kind = 'session_revoked'`,
    );
    expect(records).toEqual({ ends: count, sessions: count });
  });

  test.each([
    ["no filter", {}, ""],
    ["a reason alone", { reason: "x" }, ""],
    ["an unknown filter", { user: "ada" }, ""],
    ["an unknown status", { status: "ended" }, "status"],
    ["a user that is no string", { user_sub: 1 }, "user_sub"],
  ])("refuses %s", async (_name, body, path) => {
    const answer = await sessions.revokeAll(body);
    expect([answer.status, answer.body.error.code, answer.body.details.issues[0].path]).toEqual([
      400,
      "invalid_request",
      path,
    ]);
  });
});
