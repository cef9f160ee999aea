import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./src/api.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";
import { asOwner, type One, startOne } from "./src/stack.ts";

let stack: One;
let api: Api;
const hops = ledgerHops("books");

beforeAll(async () => {
  stack = await startOne();
  api = stack.api;
  await registerLedger(api, "books");
  await registerLedger(api, "travel");
}, 60_000);
afterAll(() => stack.stop());

const read = (session: string) => api.call("GET", `/v1/sessions/${session}`, { bearer: api.tokens.audit });
const list = (query: string) => api.call("GET", `/v1/sessions?${query}`, { bearer: api.tokens.audit });
const revoke = (session: string, body?: object) =>
  api.call("POST", `/v1/sessions/${session}/revoke`, { bearer: api.tokens.admin, ...(body && { body }) });
const revokeAll = (body: object) => api.call("POST", "/v1/sessions/revoke", { bearer: api.tokens.admin, body });
const idsOf = (page: { body: { data: { session_id: string }[] } }) =>
  page.body.data.map(({ session_id }) => session_id);
const consentOf = async (user: string, scope = "books") => (await api.consent(scope, { user_sub: user })).session;
const endsOf = (session: string) =>
  asOwner(
    stack.database,
    (sql) => sql`
      select actor, reason, details from administrative_event
      where kind = 'session_revoked' and session_id = ${session}`,
  );

describe("a session", () => {
  test("reads back as it was consented to, without its tokens", async () => {
    const { session, token, body } = await api.consent("books", { user_sub: "grace" });
    const { status, body: found, text } = await read(session);
    expect(status).toBe(200);
    expect(found).toEqual({
      session_id: session,
      status: "active",
      scope: "books",
      user_sub: "grace",
      policy_version: body.policy_version,
      hop_budget: body.hop_budget,
      consented_by: "admin",
      consented_at: expect.stringMatching(/\.\d{3}Z$/),
      expires_at: body.expires_at,
      revoked_at: null,
      revoked_by: null,
      revoked_reason: null,
      taint_marks: [],
    });
    expect(text).not.toContain(token);
    expect(text).not.toContain("ey");
  });

  test("shows who was marked, by what, and when: agents by name, the human under null", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const { action } = await api.hop(session, clerk.token, hops.browse);
    const mark = {
      taint: "untrusted_external",
      source: hops.browse.target,
      action_id: action,
      ts: expect.stringMatching(/\.\d{3}Z$/),
    };
    const { taint_marks: marks } = (await read(session)).body;
    expect(marks).toHaveLength(2);
    for (const agent of [hops.clerk.target, hops.planner.target]) expect(marks).toContainEqual({ agent, ...mark });

    await api.attest("surfer", {
      surf: {
        hop_budget: 2,
        tools: [{ ref: "http:surf/get", data_classes: ["web"], result_taint: "untrusted_external" }],
      },
    });
    const human = await api.consent("surf");
    await api.hop(human.session, human.token, { target: "http:surf/get", target_kind: "tool", data_class: "web" });
    expect((await read(human.session)).body.taint_marks).toMatchObject([{ agent: null, source: "http:surf/get" }]);
  });

  test.each(["01a00000-0000-7000-8000-000000000000", "no-session", "revoke"])("%s is not found", async (session) => {
    for (const answer of [await read(session), await revoke(session)]) {
      expect([answer.status, answer.body.error.code]).toEqual([404, "session_not_found"]);
    }
  });

  test("keeps its policy for life while the policy moves on", async () => {
    const clerk = (tools: object[]) => ({ drafts: { hop_budget: 3, tools } });
    const [first, second] = ["one", "two"].map((name) => ({
      ref: `http:drafts/${name}`,
      data_classes: ["docs"],
    }));
    await api.attest("drafter", clerk([first ?? {}]));
    const old = await api.consent("drafts");
    const { status } = await api.call("POST", "/v1/manifests", {
      bearer: api.tokens.admin,
      body: { agent: "drafter", manifest: { scopes: clerk([second ?? {}]) }, override: {} },
    });
    expect(status).toBe(201);
    const young = await api.consent("drafts");

    const versions = await Promise.all([old, young].map(async ({ session }) => (await read(session)).body));
    expect(versions.map(({ policy_version }) => policy_version)).toEqual([1, 2]);
    const call = (name: string) => ({
      target: `http:drafts/${name}`,
      target_kind: "tool" as const,
      data_class: "docs",
    });
    const [token] = (await api.renew(old.token, 1)).body.tokens;
    await api.hop(old.session, token, call("one"));
    await api.hop(young.session, young.token, call("two"));
    const again = await api.consent("drafts", { policy_version: 2 });
    expect((await api.authorize(again.session, again.token, call("one"))).body.decision).toBe("deny");
  });
});

describe("revoking a session", () => {
  test("ends it for decision, exchange, renewal and mint, from the next request on", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const [forExchange, forRenewal, forMint, spare] = (await api.renew(clerk.token, 4)).body.tokens;
    const allow = (await api.authorize(session, forExchange, hops.read)).body.action_id;
    const post = await api.hop(session, forMint, hops.post);

    const revoked = await revoke(session, { reason: "left the company" });
    expect(revoked.status).toBe(200);
    expect(revoked.body).toMatchObject({
      session_id: session,
      status: "revoked",
      revoked_by: "admin",
      revoked_reason: "left the company",
      taint_marks: [],
    });

    expect((await api.authorize(session, spare, hops.read)).body.deny_reason).toBe("SESSION_REVOKED");
    const exchanged = await api.exchange(forExchange, hops.read, allow);
    expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
    const renewed = await api.renew(forRenewal, 1);
    expect([renewed.status, renewed.body.details.deny_reason]).toEqual([403, "SESSION_REVOKED"]);
    const minted = await api.mint(post.token, post.action, {});
    expect([minted.status, minted.body.details.deny_reason]).toEqual([403, "SESSION_REVOKED"]);
    const spent = await asOwner(stack.database, (sql) => sql`select from spend where action_id = ${allow}`);
    expect(spent.count).toBe(0);
  });

  test("again changes nothing and records nothing", async () => {
    const session = await consentOf("ada");
    const first = await revoke(session, { reason: "first" });
    const second = await revoke(session, { reason: "second" });
    expect(second.body).toEqual(first.body);
    expect(await endsOf(session)).toEqual([{ actor: "admin", reason: "first", details: {} }]);
  });

  test("needs no body, and twenty at once record one end", async () => {
    const session = await consentOf("ada");
    const answers = await Promise.all(Array.from({ length: 20 }, () => revoke(session)));
    expect(answers.map(({ status, body }) => [status, body.status])).toEqual(Array(20).fill([200, "revoked"]));
    expect(await endsOf(session)).toHaveLength(1);
  });

  test("that has expired leaves it expired", async () => {
    const session = await insertExpired("ada");
    expect((await revoke(session)).body.status).toBe("expired");
    expect(await endsOf(session)).toEqual([]);
  });

  test.each([
    ["an unknown member", { why: "x" }, ""],
    ["a reason with NUL", { reason: "a\0" }, "reason"],
    ["an empty reason", { reason: "" }, "reason"],
  ])("refuses %s", async (_name, body, path) => {
    const answer = await revoke(await consentOf("ada"), body);
    expect([answer.status, answer.body.error.code, answer.body.details.issues[0].path]).toEqual([
      400,
      "invalid_request",
      path,
    ]);
  });

  test("races its exchanges without ever issuing after it answered", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const tokens: string[] = (await api.renew(clerk.token, 8)).body.tokens;
    const allows = await Promise.all(
      tokens.map(async (token) => (await api.authorize(session, token, hops.read)).body.action_id as string),
    );
    let answered = false;
    const ended = revoke(session).then(() => {
      answered = true;
    });
    const late = await Promise.all(
      tokens.map(async (token, index) => {
        const startedAfter = answered;
        const { status } = await api.exchange(token, hops.read, allows[index] ?? "");
        return { startedAfter, status };
      }),
    );
    await ended;
    for (const { startedAfter, status } of late) expect(startedAfter ? [403] : [200, 403]).toContain(status);
    const [spare] = allows;
    expect((await api.exchange(tokens[0] ?? "", hops.read, spare ?? "")).status).not.toBe(200);
  });
});

describe("listing sessions", () => {
  test("goes newest first through pages that neither repeat nor miss one", async () => {
    const user = "pager";
    const made: string[] = [];
    for (let count = 0; count < 5; count++) made.unshift(await consentOf(user));
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page = await list(`user_sub=${user}&limit=2${cursor && `&cursor=${cursor}`}`);
      seen.push(...idsOf(page));
      cursor = page.body.page.next_cursor;
      // Younger than the page: it must not move what follows.
      await consentOf(user);
    }
    expect(seen).toEqual(made);
  });

  test("filters by user, scope, agent and status, and by all of them", async () => {
    const user = "filtered";
    const [active, ended] = [await consentOf(user), await consentOf(user)];
    const elsewhere = await consentOf(user, "travel");
    const expired = await insertExpired(user);
    await revoke(ended);
    const delegated = await api.consent("books", { user_sub: user });
    expect((await api.authorize(delegated.session, delegated.token, hops.clerk)).body.decision).toBe("deny");
    await api.hop(delegated.session, delegated.token, hops.planner);
    const found = async (query: string) => idsOf(await list(`user_sub=${user}&${query}`)).toSorted();
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
    const answer = await list(query);
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
  });

  test("refuses a cursor of another filter", async () => {
    await consentOf("ada");
    await consentOf("ada");
    const { next_cursor: cursor } = (await list("user_sub=ada&limit=1")).body.page;
    expect((await list(`user_sub=grace&limit=1&cursor=${cursor}`)).status).toBe(400);
  });
});

describe("revoking sessions by a filter", () => {
  test("ends those that match and run, and no others", async () => {
    const user = "mallory";
    const [one, two, ended] = [await consentOf(user), await consentOf(user), await consentOf(user)];
    const expired = await insertExpired(user);
    const elsewhere = await consentOf(user, "travel");
    await revoke(ended);
    expect((await revokeAll({ user_sub: user, scope: "books", reason: "incident 7" })).body).toEqual({ revoked: 2 });
    const statuses = await Promise.all([one, two, ended, expired, elsewhere].map(async (id) => (await read(id)).body));
    expect(statuses.map(({ status }) => status)).toEqual(["revoked", "revoked", "revoked", "expired", "active"]);
    expect(await endsOf(one)).toEqual([{ actor: "admin", reason: "incident 7", details: {} }]);
    expect((await revokeAll({ user_sub: user, scope: "books" })).body).toEqual({ revoked: 0 });
  });

  test("by an agent ends every session in which it was delegated to", async () => {
    const { session } = await clerkSession(api, "travel");
    const untouched = await consentOf("ada", "travel");
    expect((await revokeAll({ agent: ledgerHops("travel").clerk.target })).body).toEqual({ revoked: 1 });
    expect((await read(session)).body.status).toBe("revoked");
    expect((await read(untouched)).body.status).toBe("active");
  });

  test("by a status takes the active ones; the others have ended", async () => {
    const session = await consentOf("lovelace");
    for (const status of ["revoked", "expired"]) {
      expect((await revokeAll({ user_sub: "lovelace", status })).body).toEqual({ revoked: 0 });
    }
    expect((await revokeAll({ user_sub: "lovelace", status: "active" })).body).toEqual({ revoked: 1 });
    expect((await read(session)).body.status).toBe("revoked");
  });

  test("ends more than fit into one transaction, each with its record", async () => {
    const count = 1203;
    await asOwner(stack.database, async (sql) => {
      await sql`
        insert into session
          (session_id, user_sub, scope, policy_version, hop_budget, consented_by, consented_at, expires_at)
        select gen_random_uuid(), 'crowd', 'books', 1, 4, 'test', now(), now() + interval '1 hour'
        from generate_series(1, ${count})`;
      await sql`insert into session_state (session_id) select session_id from session where user_sub = 'crowd'`;
    });
    expect((await revokeAll({ user_sub: "crowd" })).body).toEqual({ revoked: count });
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
    ["a status that is none", { status: "ended" }, "status"],
    ["a user that is no text", { user_sub: 1 }, "user_sub"],
  ])("refuses %s", async (_name, body, path) => {
    const answer = await revokeAll(body);
    expect([answer.status, answer.body.error.code, answer.body.details.issues[0].path]).toEqual([
      400,
      "invalid_request",
      path,
    ]);
  });
});

/** A consent cannot be made to have expired within a test's time. */
async function insertExpired(user: string): Promise<string> {
  const [row] = await asOwner(
    stack.database,
    (sql) => sql<{ session_id: string }[]>`
      with made as (
        insert into session
          (session_id, user_sub, scope, policy_version, hop_budget, consented_by, consented_at, expires_at)
        values (gen_random_uuid(), ${user}, 'books', 1, 4, 'test', now() - interval '2 hours', now() - interval '1 hour')
        returning session_id
      )
      insert into session_state (session_id) select session_id from made returning session_id`,
  );
  if (row === undefined) throw new Error("the session was inserted");
  return row.session_id;
}
