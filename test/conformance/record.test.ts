import { createDatabase, startControlPlane, type TestDatabase, testBearers } from "@svc/test-support";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, createApi } from "./src/api.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";

let api: Api;
let database: TestDatabase;
let stop: () => Promise<unknown>;
const hops = ledgerHops("books");

beforeAll(async () => {
  database = await createDatabase();
  const controlPlane = await startControlPlane({ database });
  stop = controlPlane.stop;
  api = createApi(controlPlane.url, testBearers);
  await registerLedger(api, "books");
}, 60_000);
afterAll(async () => {
  await stop();
  await database.drop();
});

async function as<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

describe("the chain of an action reads back to the consenting human", () => {
  test("hop by hop, with the consent at its root", async () => {
    const { session, planner, clerk } = await clerkSession(api, "books");
    const { action } = await api.hop(session, clerk.token, hops.read);
    const { status, body } = await api.chain(action);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      root: { user_sub: "ada", scope: "books", session_id: session, consented_at: expect.stringMatching(/\.\d{3}Z$/) },
      complete: true,
      break: null,
    });
    expect(
      body.hops.map((hop: Record<"hop" | "action_id" | "acting_agent" | "target", unknown>) => [
        hop.hop,
        hop.action_id,
        hop.acting_agent,
        hop.target,
      ]),
    ).toEqual([
      [1, planner.action, "ada", hops.planner.target],
      [2, clerk.action, hops.planner.target, hops.clerk.target],
      [3, action, hops.clerk.target, hops.read.target],
    ]);
  });

  test("a denied action reads back as well, with its reason", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const denied = await api.authorize(session, clerk.token, { ...hops.read, data_class: "web" });
    const { body } = await api.chain(denied.body.action_id);
    expect(body.complete).toBe(true);
    expect(body.hops.at(-1)).toMatchObject({
      decision: "deny",
      deny_reason: "DATA_CLASS_NOT_DECLARED",
      enforced: true,
    });
  });

  test("an action nobody took is not found", async () => {
    const answer = await api.chain("01a00000-0000-7000-8000-000000000000");
    expect([answer.status, answer.body.error.code]).toEqual([404, "action_not_found"]);
  });
});

describe("the audit log", () => {
  test("says of an action when it was spent and what it was bound to", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const { token, action } = await api.hop(session, clerk.token, hops.post);
    await api.mint(token, action, { amount: 1 });
    const { body } = await api.decisions(`session_id=${session}&privileged=true`);
    expect(body.data).toHaveLength(1);
    expect(body.data[0]).toMatchObject({
      action_id: action,
      stage: "authorize",
      spent_at: expect.stringMatching(/Z$/),
      params_hash: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  test("lists what observe mode would have blocked", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const denied = { ...hops.read, target: "http:books/nowhere" };
    await api.authorize(session, clerk.token, denied, { enforced: false });
    await api.authorize(session, clerk.token, hops.read, { enforced: false });
    const { body } = await api.decisions(`session_id=${session}&enforced=false&outcome=deny`);
    expect(body.data.map(({ target }: { target: string }) => target)).toEqual([denied.target]);
  });
});

describe("records are append-only by force of the database", () => {
  const records = [
    ["decision", "update decision set decision = 'allow', deny_reason = null"],
    ["decision", "delete from decision"],
    ["decision", "truncate decision"],
    ["spend", "delete from spend"],
    ["spend", "truncate spend cascade"],
    ["mint", "update mint set params_hash = ''"],
    ["taint_mark", "delete from taint_mark"],
    ["session", "update session set expires_at = now() + interval '1 year'"],
    ["compiled_policy", "update compiled_policy set document = ''"],
    ["manifest_version", "update manifest_version set status = 'attested'"],
    ["administrative_event", "delete from administrative_event"],
    ["revocation", "truncate revocation"],
  ] as const;

  beforeAll(async () => {
    const { session, clerk } = await clerkSession(api, "books");
    await api.hop(session, clerk.token, hops.browse);
    const [second] = (await api.renew((await clerkSession(api, "books")).clerk.token, 1)).body.tokens;
    expect(second).toBeTypeOf("string");
  });

  test.each(records)("%s: the service may not: %s", async (_table, statement) => {
    await expect(as(database.appUrl, (sql) => sql.unsafe(statement))).rejects.toThrow(/permission denied/);
  });

  test.each(records)("%s: nor may the owner: %s", async (_table, statement) => {
    await expect(as(database.ownerUrl, (sql) => sql.unsafe(statement))).rejects.toThrow(/append-only/);
  });

  test("nor a replication role, for which ordinary triggers do not fire", async () => {
    const replica = async (sql: postgres.Sql) => {
      await sql`set session_replication_role = replica`;
      await sql`delete from decision`;
    };
    await expect(as(database.superuserUrl, replica)).rejects.toThrow(/append-only/);
  });

  test.each([
    ["a deny without a reason", "deny", null],
    ["an allow with a reason", "allow", "TAINT_BLOCKED"],
  ])("%s cannot be written", async (_case, decision, reason) => {
    const copy = (sql: postgres.Sql) => sql`
      insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
        data_class, decision, deny_reason, recoverable, enforced, privileged, taint, policy_version, decided_at)
      select gen_random_uuid(), record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
        data_class, ${decision}, ${reason}, recoverable, enforced, privileged, taint, policy_version, decided_at
      from decision limit 1`;
    await expect(as(database.appUrl, copy)).rejects.toThrow(/reason_exactly_for_denies/);
  });
});

describe("what changes under a session holds from the next request on", () => {
  const inDatabase = (statement: string) => as(database.ownerUrl, (sql) => sql.unsafe(statement));
  const newDenials = () => inDatabase("update denial_epoch set epoch = gen_random_uuid()");

  test("its end, for decision, exchange, renewal and mint alike", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const [forExchange, forRenewal, forMint, spare] = (await api.renew(clerk.token, 4)).body.tokens;
    const action = (await api.authorize(session, forExchange, hops.read)).body.action_id;
    const post = await api.hop(session, forMint, hops.post);
    await inDatabase(
      `update session_state set revoked_at = now(), epoch = gen_random_uuid() where session_id = '${session}'`,
    );
    expect((await api.authorize(session, spare, hops.read)).body.deny_reason).toBe("SESSION_REVOKED");
    const exchanged = await api.exchange(forExchange, hops.read, action);
    expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
    const renewed = await api.renew(forRenewal, 1);
    expect(renewed.body).toMatchObject({
      error: { code: "renewal_refused" },
      details: { deny_reason: "SESSION_REVOKED" },
    });
    const minted = await api.mint(post.token, post.action, {});
    expect(minted.body).toMatchObject({ error: { code: "mint_refused" }, details: { deny_reason: "SESSION_REVOKED" } });
    const { body } = await api.decisions(`session_id=${session}&outcome=deny`);
    expect(body.data.map(({ stage }: { stage: string }) => stage).sort()).toEqual(["authorize", "exchange", "mint"]);
  });

  test("an agent's revocation", async () => {
    await registerLedger(api, "gone");
    const { session, clerk } = await clerkSession(api, "gone");
    const there = ledgerHops("gone");
    await inDatabase(
      `insert into revocation (agent_id, agent, as_of) select agent_id, name, now() from agent where name = 'planner-gone'`,
    );
    await newDenials();
    expect((await api.authorize(session, clerk.token, there.read)).body.deny_reason).toBe("AGENT_REVOKED");
  });

  test("an emergency block on a tool", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    await inDatabase(
      `insert into block (kind, ref, reason, created_at) values ('tool', '${hops.browse.target}', 'hostile', now())`,
    );
    await newDenials();
    expect((await api.authorize(session, clerk.token, hops.browse)).body.deny_reason).toBe("TARGET_BLOCKED");
    expect((await api.authorize(session, clerk.token, hops.read)).body.decision).toBe("allow");
    await inDatabase("delete from block");
    await newDenials();
    expect((await api.authorize(session, clerk.token, hops.browse)).body.decision).toBe("allow");
  });
});

describe("taint flows along delegations and back", () => {
  test("what browsed the web may not write, and whoever delegated to it is marked too", async () => {
    const { session, planner, clerk } = await clerkSession(api, "books");
    const [reads, writes] = (await api.renew(clerk.token, 2)).body.tokens;
    expect(planner.action).toBeTypeOf("string");
    expect((await api.authorize(session, reads, hops.browse)).body).toMatchObject({
      decision: "allow",
      taint: "trusted_internal",
    });
    expect((await api.authorize(session, writes, hops.post)).body).toMatchObject({
      decision: "deny",
      deny_reason: "TAINT_BLOCKED",
      taint: "untrusted_external",
      taint_source: hops.browse.target,
    });
    const members = await as(
      database.ownerUrl,
      (sql) => sql<{ member: string }[]>`
      select member from taint_mark where session_id = ${session} order by member`,
    );
    expect(members.map(({ member }) => member)).toEqual([hops.clerk.target, hops.planner.target]);
  });

  test("a privileged call allowed before the taint is refused at the exchange after it", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const [reads, writes] = (await api.renew(clerk.token, 2)).body.tokens;
    const action = (await api.authorize(session, writes, hops.post)).body.action_id;
    await api.authorize(session, reads, hops.browse);
    const exchanged = await api.exchange(writes, hops.post, action);
    expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
  });

  test("an exchange that declares taint marks its caller, and cannot lower it", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const [one, two] = (await api.renew(clerk.token, 2)).body.tokens;
    const action = (await api.authorize(session, one, hops.read)).body.action_id;
    const answer = await api.exchange(one, hops.read, action, { taint: "untrusted_external" });
    expect(answer.status).toBe(200);
    const later = await api.authorize(session, two, hops.read, { taint: "trusted_internal" });
    expect(later.body).toMatchObject({ taint: "untrusted_external", taint_source: "declared" });
  });

  test("50 parallel decisions that mark and delegate lose no mark", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const tokens = [];
    let [last] = (await api.renew(clerk.token, 1)).body.tokens;
    for (let n = 0; n < 7; n++) {
      const batch = (await api.renew(last, 8)).body.tokens;
      last = batch.pop();
      tokens.push(...batch);
    }
    const answers = await Promise.all(tokens.map((token) => api.authorize(session, token, hops.browse)));
    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(statuses.has(200)).toBe(true);
    const after = await api.authorize(session, last, hops.read);
    expect(after.body.taint).toBe("untrusted_external");
  });
});
