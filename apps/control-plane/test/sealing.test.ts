import { columnsOf, currentFormat, sourceFacts, sources } from "@svc/seals";
import { waitUntil } from "@svc/test-support";
import type { SigningKey } from "@svc/tokens";
import postgres from "postgres";
import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connect, poolOf } from "../src/postgres/database.ts";
import { retention } from "../src/postgres/retention.ts";
import { settledMoments } from "../src/postgres/seals/record-seals.ts";
import { recorder } from "./decision-rows.ts";
import { aKey, auditConnection, examine, openEvent, sealEverything, sealer } from "./sealing.ts";
import { startPlane } from "./support.ts";

const plane = await startPlane();
const { sql, record, spend, mint, renew, consent } = await recorder(plane);
const service = connect({ url: plane.database.appUrl, maxConnections: 4, statementTimeoutMs: 5_000 });
const auditor = auditConnection(plane.database.superuserUrl);
const [first, second] = await Promise.all([aKey(), aKey()]);
afterAll(async () => {
  await Promise.all([sql.end(), service.end(), auditor.end()]);
  await plane.stop();
});

/** An action with everything that can follow from it, a renewal, and a session with its event. */
async function someRows(): Promise<void> {
  await consent();
  const { action_id: actionId } = await record({ privileged: true, present: { blocks: ["a"] } });
  await spend(actionId);
  await mint(actionId);
  await renew(new Date());
}

async function rowsOfRecord(): Promise<number> {
  const tables = ["session", "decision", "spend", "mint", "administrative_event"];
  const counts = await Promise.all(
    tables.map((table) => sql<{ n: number }[]>`select count(*)::int as n from ${sql(table)}`),
  );
  return counts.reduce((sum, [row]) => sum + (row?.n ?? 0), 0);
}
const batches = async (): Promise<number> =>
  (await sql<{ n: number }[]>`select count(*)::int as n from seal`)[0]?.n ?? 0;

describe("the leaf format", () => {
  test.each(sources)("covers every column of a %s", async (source) => {
    const rows = await sql<{ name: string }[]>`
      select column_name as name from information_schema.columns
      where table_schema = 'public' and table_name = ${sourceFacts[source].table}`;
    expect(rows.map(({ name }) => name).toSorted()).toEqual(columnsOf(currentFormat, source)?.toSorted());
  });
});

describe("every row of the record", () => {
  test("is sealed once, in batches of any size, and verifies", async () => {
    for (let n = 0; n < 3; n++) await someRows();
    await sealEverything(sealer(service, () => first, { maxRows: 3 }));
    const report = await examine(auditor, [first]);
    expect(report).toMatchObject({ findings: [], unsealed: { rows: 0, oldestMs: null } });
    expect(report.rows).toBe(await rowsOfRecord());
    expect(report.batches).toBeGreaterThan(4);
    await someRows();
    await sealEverything(sealer(service, () => first));
    expect(await examine(auditor, [first])).toMatchObject({ findings: [], rows: await rowsOfRecord() });
  });

  test("is not sealed again: without new rows there is no new batch", async () => {
    const before = await batches();
    expect(await sealer(service, () => first).seal()).toBe("done");
    expect(await batches()).toBe(before);
  });

  test("is sealed after the settling time", async () => {
    const before = await batches();
    await someRows();
    const patient = sealer(service, () => first, { settleMs: 60_000 });
    await patient.seal();
    expect(await batches()).toBe(before);
    expect(await patient.oldestUnsealedMs()).toBeGreaterThan(Date.now() - 60_000);
    await sealEverything(sealer(service, () => first));
  });
});

describe("an open transaction", () => {
  test("delays the sealing of later rows until it ends, and its rows are sealed with them", async () => {
    const late = await openEvent(plane.database.appUrl);
    const before = await batches();
    await someRows();
    const seals = sealer(service, () => first);
    for (let n = 0; n < 3; n++) await seals.seal();
    expect(await batches()).toBe(before);
    await late.commit();
    await sealEverything(seals);
    expect(await examine(auditor, [first])).toMatchObject({ findings: [], rows: await rowsOfRecord() });
  });

  test("delays only the moments after its first write", async () => {
    const settled = settledMoments(service);
    await waitUntil("a moment to be settled", async () => (await settled()) !== undefined);
    const late = postgres(plane.database.appUrl, { max: 1, onnotice: () => {} });
    let beganMs = 0;
    await late.begin(async (tx) => {
      const [began] = await tx<{ at: Date }[]>`select clock_timestamp() as at, pg_current_xact_id()`;
      beganMs = began?.at.getTime() ?? 0;
      // Transactions of other databases on the server delay moments too, so an earlier one may follow.
      expect(await settled()).toBeLessThanOrEqual(beganMs);
      await someRows();
      expect(await settled()).toBeLessThanOrEqual(beganMs);
    });
    await late.end();
    await waitUntil("later moments to be settled", async () => ((await settled()) ?? 0) > beganMs);
    await sealEverything(sealer(service, () => first));
  });
});

describe("several sealers", () => {
  test("that run concurrently make one chain", async () => {
    for (let n = 0; n < 4; n++) await someRows();
    const seals = Array.from({ length: 4 }, () => sealer(service, () => first, { maxRows: 2 }));
    await Promise.all(seals.map((each) => each.seal()));
    await Promise.all(seals.map(sealEverything));
    expect(await examine(auditor, [first])).toMatchObject({ findings: [], rows: await rowsOfRecord() });
  });

  test("do not wait for one that is running", async () => {
    await someRows();
    await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(7270125202)`;
      const seals = sealer(service, () => first);
      // Whoever else writes on this server may hold back every moment for a while: then there is nothing to be busy with.
      await waitUntil("it to come upon the other", async () => (await seals.seal()) === "busy");
    });
    await sealEverything(sealer(service, () => first));
  });

  test("continue after one that ended between two batches", async () => {
    for (let n = 0; n < 3; n++) await someRows();
    let signed = 0;
    const counting: SigningKey = {
      ...first,
      sign: (...given) => {
        signed++;
        return first.sign(...given);
      },
    };
    const failing = sealer(
      service,
      () => {
        if (signed === 2) throw new Error("this process ended");
        return counting;
      },
      { maxRows: 2 },
    );
    const before = await batches();
    const toItsEnd = async () => {
      for (;;) await failing.seal();
    };
    await expect(toItsEnd()).rejects.toThrow("this process ended");
    expect(await batches()).toBe(before + 2);
    await sealEverything(sealer(service, () => first, { maxRows: 2 }));
    expect(await examine(auditor, [first])).toMatchObject({ findings: [], rows: await rowsOfRecord() });
  });
});

describe("a rotated key", () => {
  test("is authenticated by the next key, and does not authenticate later seals", async () => {
    const before = await batches();
    await someRows();
    await sealEverything(sealer(service, () => second));
    const report = await examine(auditor, [second]);
    expect(report.findings).toEqual([]);
    expect(report.keys.keys.map(({ kid }) => kid)).toEqual([first.kid, second.kid]);
    const outdated = await examine(auditor, [first]);
    expect(outdated.findings).toEqual([{ kind: "not_vouched", batch: before + 1, throughBatch: await batches() }]);
  });
});

describe("a month past its retention", () => {
  const keeper = retention({
    pool: poolOf(service, 5_000),
    clock: { nowMs: Date.now },
    ids: { next: uuidv7 },
  });
  let [atOnce, report]: Awaited<ReturnType<typeof examine>>[] = [];
  beforeAll(async () => {
    // Another database: its first batch must hold the old month.
    const owner = postgres(plane.database.ownerUrl, { max: 1, onnotice: () => {} });
    await auditor.unsafe(
      "alter table seal disable trigger all; truncate seal; alter table seal enable always trigger append_only",
    );
    await auditor.unsafe("alter table seal enable always trigger append_only_whole");
    await owner`select make_decision_partition('2020-02-01'::date)`;
    const at = new Date("2020-02-15T00:00:00Z");
    const { action_id: actionId } = await record({ decided_at: at, privileged: true });
    await spend(actionId);
    await mint(actionId);
    await renew(at);
    await sealEverything(sealer(service, () => second, { maxRows: 5 }));
    await owner`update retention set keep_months = 13`;
    expect(await keeper.retire()).toBe("done");
    atOnce = await examine(auditor, [second]);
    await sealEverything(sealer(service, () => second));
    await owner.end();
    report = await examine(auditor, [second]);
  });

  test("is no finding, but is not proven before its event is sealed", () => {
    expect(atOnce?.findings).toEqual([]);
    expect(atOnce?.retired.notProvableYet).toEqual([{ month: "2020-02", sealedByMs: expect.any(Number) }]);
    const inMs = (atOnce?.retired.notProvableYet[0]?.sealedByMs ?? 0) - Date.now();
    expect(Math.abs(inMs - 3_600_000)).toBeLessThan(600_000);
  });

  test("keeps its seals and is no finding", async () => {
    expect(report?.findings).toEqual([]);
    expect(report?.retired).toMatchObject({ rows: 4, months: ["2020-02"], notProvableYet: [] });
    expect(report?.rows).toBe(await rowsOfRecord());
  });
});

describe("a database that was dumped and restored", () => {
  beforeEach(async () => {
    await someRows();
  });

  test("seals only its unsealed rows, and verifies against the earlier seals", async () => {
    const other = await startPlane();
    const target = postgres(other.database.superuserUrl, { max: 1, onnotice: () => {} });
    // As pg_dump and pg_restore do it: rows by COPY, into transactions of another numbering.
    await target.unsafe("set session_replication_role = replica");
    for (const table of ["session", "decision", "spend", "mint", "administrative_event", "retired_month", "seal"]) {
      const generated = table === "decision" ? " overriding system value" : "";
      const rows = await auditor.unsafe(`select to_json(t)::text as row from ${table} t`);
      for (const { row } of rows) {
        await target.unsafe(
          `insert into ${table}${generated} select * from json_populate_record(null::${table}, $1::text::json)`,
          [row],
        );
      }
    }
    const before = await examine(auditor, [second]);
    const restored = connect({ url: other.database.appUrl, maxConnections: 1, statementTimeoutMs: 5_000 });
    await sealEverything(sealer(restored, () => second));
    const heads = before.head === null ? [] : [before.head];
    const audit = auditConnection(other.database.superuserUrl);
    const report = await examine(audit, [second], { heads });
    expect(report).toMatchObject({ findings: [], rows: before.rows + before.unsealed.rows, unsealed: { rows: 0 } });
    expect(before.unsealed.rows).toBeGreaterThan(0);
    expect(report.batches).toBe(before.batches + 1);
    await Promise.all([target.end(), restored.end(), audit.end()]);
    await other.stop();
  });
});
