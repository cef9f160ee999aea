import postgres from "postgres";
import { beforeAll, describe, expect, test } from "vitest";
import { oneForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops } from "./src/ledger.ts";

const { api, database } = await oneForTests();
const hops = ledgerHops("books");

async function as<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

describe("the audit log", () => {
  test("shows when an action was spent and its transaction's parameter hash", async () => {
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
});

describe("the database keeps records append-only", () => {
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

  test.each(records)("%s: the service's role cannot: %s", async (_table, statement) => {
    await expect(as(database.appUrl, (sql) => sql.unsafe(statement))).rejects.toThrow(/permission denied/);
  });

  test.each(records)("%s: the owner cannot: %s", async (_table, statement) => {
    await expect(as(database.ownerUrl, (sql) => sql.unsafe(statement))).rejects.toThrow(/append-only/);
  });

  test("a replication role, which skips ordinary triggers, cannot delete decisions", async () => {
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

describe("taint flows along delegations and back", () => {
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
