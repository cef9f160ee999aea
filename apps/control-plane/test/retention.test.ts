import { waitUntil } from "@svc/test-support";
import postgres from "postgres";
import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connect, poolOf } from "../src/postgres/database.ts";
import { retention } from "../src/postgres/retention.ts";
import { recorder } from "./decision-rows.ts";
import { query, startPlane } from "./support.ts";

const plane = await startPlane();
const { sql, record, spend, renew, mint } = await recorder(plane);
const owner = postgres(plane.database.ownerUrl, { max: 1, onnotice: () => {} });
const service = connect({ url: plane.database.appUrl, maxConnections: 1, statementTimeoutMs: 5_000 });
afterAll(async () => {
  await Promise.all([sql.end(), owner.end(), service.end()]);
  await plane.stop();
});

const nowMs = Date.now();
const keeper = retention({
  pool: poolOf(service, 5_000),
  clock: { nowMs: () => nowMs },
  ids: { next: uuidv7 },
});

const keepMonths = (months: number | null) => owner`update retention set keep_months = ${months}`;
const months = async (): Promise<readonly string[]> => {
  const rows = await owner<{ name: string }[]>`
    select inhrelid::regclass::text as name from pg_inherits where inhparent = 'decision'::regclass order by name`;
  return rows.map(({ name }) => name);
};

/** A month of the past with a decision, its spend and mint, and a renewal. */
async function pastMonth(month: string) {
  await owner`select make_decision_partition(${`${month}-01`}::date)`;
  const at = new Date(`${month}-15T00:00:00Z`);
  const { action_id: actionId } = await record({ decided_at: at, privileged: true });
  await spend(actionId);
  await mint(actionId);
  return { actionId, renewalId: await renew(at) };
}

const isKept = async ({ actionId, renewalId }: { actionId: string; renewalId: string }) => {
  const [row] = await sql<{ decision: boolean; spend: boolean; mint: boolean; renewal: boolean }[]>`
    select exists (select from decision where action_id = ${actionId}) as decision,
      exists (select from spend where action_id = ${actionId}) as spend,
      exists (select from mint where action_id = ${actionId}) as mint,
      exists (select from spend where renewal_id = ${renewalId}) as renewal`;
  return row;
};
const whole = { decision: true, spend: true, mint: true, renewal: true };
const gone = { decision: false, spend: false, mint: false, renewal: false };

describe("a month past its retention", () => {
  test("is kept where the owner set no retention", async () => {
    const kept = await pastMonth("2020-01");
    expect(await keeper.retire()).toBe("done");
    expect(await isKept(kept)).toEqual(whole);
    expect(await keeper.lastDoneMs()).toBe(nowMs);
  });

  test("is deleted with its spends, renewals and mints, and recorded; later months stay", async () => {
    const [old, older] = [await pastMonth("2020-02"), await pastMonth("2020-03")];
    const [keeps] = await owner<
      { month: string }[]
    >`select to_char(months_after(this_month(), -14), 'YYYY-MM') as month`;
    const young = await pastMonth(keeps?.month ?? "");
    const now = { actionId: (await record({ privileged: true })).action_id, renewalId: await renew(new Date()) };
    await spend(now.actionId);
    await mint(now.actionId);
    const before = await months();

    await keepMonths(14);
    expect(await keeper.retire()).toBe("done");
    expect(await isKept(old)).toEqual(gone);
    expect(await isKept(older)).toEqual(gone);
    expect(await isKept(young)).toEqual(whole);
    expect(await isKept(now)).toEqual(whole);
    const retired = ["2020-01", "2020-02", "2020-03"];
    const names = retired.map((month) => `decision_${month.replace("-", "_")}`);
    expect(before.filter((name) => !names.includes(name))).toEqual(await months());
    const { json } = await plane.send("/v1/audit/events?kind=records_retired");
    expect(json.data).toMatchObject(
      retired
        .toReversed()
        .map((month) => ({ actor: "retention", details: { month }, ts: new Date(nowMs).toISOString() })),
    );

    await keepMonths(13);
    await keeper.retire();
    expect(await isKept(young)).toEqual(gone);
    expect(await isKept(now)).toEqual(whole);
  });

  test("is deleted in any number of batches", async () => {
    await owner`select make_decision_partition('2020-04-01'::date)`;
    await sql`
      insert into spend (jti_hash, session_id, kind, spent_at, renewal_id, actor)
      select int4send(n), gen_random_uuid(), 'renewal', now(),
        (substr(first_id_of('2020-04-02')::text, 1, 24) || lpad(to_hex(n), 12, '0'))::uuid, 'ada'
      from generate_series(1, 12000) n`;
    await keepMonths(13);
    expect(await keeper.retire()).toBe("done");
    const [left] = await sql<{ count: number }[]>`
      select count(*)::int from spend where renewal_id < first_id_of('2020-05-01')`;
    expect(left?.count).toBe(0);
  });
});

describe("no role deletes records within retention", () => {
  beforeAll(async () => {
    await keepMonths(null);
    await spend((await record()).action_id);
  });

  test.each([
    "update retention set keep_months = 1",
    "insert into retired_month (month) values (current_date)",
    "select make_decision_partition('2019-01-01')",
    "drop table decision_default",
    "alter table decision detach partition decision_default",
    "delete from spend",
    "insert into schema_migration (name, checksum) values ('x', 'x')",
  ])("the service cannot: %s", async (statement) => {
    await expect(query(plane.database.appUrl, statement)).rejects.toThrow(/permission denied|must be owner/);
  });

  test.each([
    "delete from spend",
    "delete from mint",
    "update spend set kind = 'renewal'",
    "delete from retired_month",
  ])("the owner cannot: %s", async (statement) => {
    await mint((await record()).action_id);
    await expect(query(plane.database.ownerUrl, statement)).rejects.toThrow(/append-only/);
  });

  test("a retention below one month is rejected", async () => {
    await expect(keepMonths(0)).rejects.toThrow(/keep_months/);
  });

  test("a temporary table that shadows the setting has no effect", async () => {
    const kept = await pastMonth("2020-05");
    await service`create temp table retention as select 1 as keep_months`;
    await service`select retire_oldest_month()`;
    await service`drop table pg_temp.retention`;
    expect(await isKept(kept)).toEqual(whole);
  });
});

describe("retention in several processes", () => {
  beforeEach(async () => {
    await keepMonths(13);
  });

  test("runs in one of them", async () => {
    const kept = await pastMonth("2020-06");
    const first = postgres(plane.database.appUrl, { max: 1, onnotice: () => {} });
    const done = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const holding = first.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(7270125201)`;
      locked.resolve();
      await done.promise;
    });
    await locked.promise;
    expect(await keeper.retire()).toBe("busy");
    expect(await keeper.prepareMonths()).toBe("busy");
    expect(await isKept(kept)).toEqual(whole);
    done.resolve();
    await holding;
    expect(await keeper.retire()).toBe("done");
    expect(await isKept(kept)).toEqual(gone);
    await first.end();
  });

  test("waits only shortly for a reader, and tries again", async () => {
    const kept = await pastMonth("2020-07");
    const done = Promise.withResolvers<void>();
    const reading = Promise.withResolvers<void>();
    const reader = sql.begin(async (tx) => {
      await tx`select count(*) from decision`;
      reading.resolve();
      await done.promise;
    });
    await reading.promise;
    const retired = keeper.retire();
    const isWaiting = async (): Promise<boolean> => {
      const [row] = await owner`select from pg_locks where relation = 'decision'::regclass and not granted`;
      return row !== undefined;
    };
    await waitUntil("the month to be waited for", isWaiting);
    await waitUntil("the wait to be given up", async () => !(await isWaiting()));
    await record();
    expect(await isKept(kept)).toEqual(whole);
    done.resolve();
    await reader;
    expect(await retired).toBe("done");
    expect(await isKept(kept)).toEqual(gone);
  });
});

describe("partitions are created ahead", () => {
  test("for this month and the next two, and a second run changes nothing", async () => {
    const [due] = await owner<{ names: string[] }[]>`
      select array_agg(partition_of(months_after(this_month(), n)) order by n) as names from generate_series(0, 2) n`;
    expect(await months()).toEqual(expect.arrayContaining(due?.names ?? []));
    expect(await keeper.prepareMonths()).toBe("done");
    expect(await months()).toEqual(expect.arrayContaining(due?.names ?? []));
  });

  test("a missing partition is created again", async () => {
    const [last] = await owner<{ name: string }[]>`select partition_of(months_after(this_month(), 2)) as name`;
    await owner.unsafe(`drop table ${last?.name}`);
    expect(await keeper.prepareMonths()).toBe("done");
    expect(await months()).toContain(last?.name);
  });

  test("a month with rows in the default partition stays there, without a fault", async () => {
    const { action_id: actionId } = await record({ decided_at: new Date("2019-05-05T00:00:00Z") });
    await owner`select make_decision_partition('2019-05-01'::date)`;
    expect(await months()).not.toContain("decision_2019_05");
    const [row] = await sql`select from decision where action_id = ${actionId}`;
    expect(row).toBeDefined();
  });
});
