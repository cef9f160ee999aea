import { schemaWords, sealHash, sourceFacts, sources } from "@svc/seals";
import { afterAll, describe, expect, test } from "vitest";
import { connect } from "../src/postgres/database.ts";
import { recorder } from "./decision-rows.ts";
import { aKey, auditConnection, examine, examineAfter, sealEverything, sealer } from "./sealing.ts";
import { startPlane } from "./support.ts";

const plane = await startPlane();
const { sql, sessionId, record, spend, mint, renew } = await recorder(plane);
const service = connect({ url: plane.database.appUrl, maxConnections: 2, statementTimeoutMs: 5_000 });
const administrator = auditConnection(plane.database.superuserUrl);
const [key, stranger] = await Promise.all([aKey(), aKey()]);
afterAll(async () => {
  await Promise.all([sql.end(), service.end(), administrator.end()]);
  await plane.stop();
});

/** The second of four actions: each row of it has one before and one after it. */
async function seal() {
  const actions: string[] = [];
  const renewals: string[] = [];
  for (let n = 0; n < 4; n++) {
    const row = await record({ privileged: true, present: { blocks: [] }, chain: ["planner"] });
    await spend(row.action_id);
    await mint(row.action_id);
    actions.push(row.action_id);
    renewals.push(await renew(new Date()));
    await sealEverything(sealer(service, () => key));
  }
  return { actionId: actions[1] ?? "", renewalId: renewals[1] ?? "" };
}
const { actionId, renewalId } = await seal();
const [event] = await sql<{ event_id: string }[]>`select event_id from administrative_event limit 1`;
const idOf = { session: sessionId, event: event?.event_id ?? "", renewal: renewalId };
const targets = sources.map((source) => ({
  source,
  ...sourceFacts[source],
  rowId: source in idOf ? idOf[source as keyof typeof idOf] : actionId,
}));

/** What only a superuser can do: nothing is in the way of a change any more. */
const tables = [...new Set(targets.map(({ table }) => table)), "seal"];
const unlock = [
  ...tables.map((table) => `alter table ${table} disable trigger all`),
  "alter table decision alter column seq drop identity",
  ...(
    await administrator<{ drop: string }[]>`
      select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop
      from pg_constraint where contype in ('c', 'f') and connamespace = 'public'::regnamespace
        and conrelid::regclass::text = any (${tables}) and coninhcount = 0`
  ).map(({ drop }) => drop),
];
/** Without what is found at the tables themselves, which is the unlocking. */
async function report(statements: readonly string[], keys = [key], more = {}) {
  const examined = await examineAfter(administrator, keys, [...unlock, ...statements], more);
  return { ...examined, findings: examined.findings.filter(({ kind }) => !(kind in schemaWords)) };
}
const [last] = await sql<{ batch: number; statement: string }[]>`
  select batch::int, statement from seal order by batch desc limit 1`;
const newest = last?.batch ?? 0;

test("an unchanged record has no findings", async () => {
  expect(await report([])).toMatchObject({ findings: [], batches: newest, unsealed: { rows: 0 } });
});

interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
}
const columns = await administrator<Column[]>`
  select c.relname::text as table, a.attname::text as column, format_type(a.atttypid, null) as type
  from pg_attribute a join pg_class c on c.oid = a.attrelid
  where c.relname = any (${tables.filter((table) => table !== "seal")}) and c.relnamespace = 'public'::regnamespace
    and attnum > 0 and not attisdropped`;

/** The least that can be changed of a value, and a value where there was none. */
const another = (column: string, type: string): string => {
  const changed: Readonly<Record<string, string>> = {
    uuid: "overlay(%::text placing (case when %::text like '%0' then '1' else '0' end) from 36)::uuid",
    text: "% || ' '",
    "text[]": "array_append(%, 'x')",
    integer: "% + 1",
    bigint: "% + 1",
    boolean: "not %",
    "timestamp with time zone": "% + interval '1 microsecond'",
    jsonb: `jsonb_build_object('x', %)`,
    bytea: "% || '\\x00'::bytea",
  };
  const absent: Readonly<Record<string, string>> = {
    uuid: "gen_random_uuid()",
    text: "''",
    bytea: "''",
    jsonb: "'{}'",
  };
  const expression = changed[type] ?? "null";
  const value = expression.replaceAll(/%(?!0')/g, `"${column}"`);
  return absent[type] === undefined ? value : `coalesce(${value}, ${absent[type]})`;
};

describe("a change of any column", () => {
  const cases = targets.flatMap((target) =>
    columns.filter(({ table }) => table === target.table).map((column) => ({ ...target, ...column })),
  );

  test.each(cases)("of a $source is detected: $column", async ({ source, table, id, rowId, column, type }) => {
    const { findings } = await report([
      `update ${table} set "${column}" = ${another(column, type)} where ${id} = '${rowId}'`,
    ]);
    const [found, ...others] = findings.filter((each) => each.source === source && each.id === rowId);
    expect(others).toEqual([]);
    expect(found?.batch).toBeGreaterThan(0);
    // Where the change takes the row out of sight, it is missing.
    expect(found?.kind).toBe(column === id || (column === "kind" && table === "spend") ? "row_removed" : "row_changed");
  });
});

describe("a row", () => {
  test.each(targets)("of a $source that is removed is named", async ({ source, table, id, rowId }) => {
    const { findings } = await report([`delete from ${table} where ${id} = '${rowId}'`]);
    expect(findings).toEqual([{ kind: "row_removed", source, id: rowId, batch: expect.any(Number) }]);
  });

  test.each(targets)(
    "of a $source that is inserted among sealed rows is named",
    async ({ source, table, id, rowId }) => {
      // Another identifier of the same time: the last digits are random.
      const forged = `${rowId.slice(0, 24)}${rowId.slice(24) === "000000000000" ? "000000000001" : "000000000000"}`;
      const unique = table === "spend" ? ", jti_hash = '\\x00', proof_jti_hash = null" : "";
      const { findings } = await report([
        `create temp table forged on commit drop as select * from ${table} where ${id} = '${rowId}'`,
        `update forged set ${id} = '${forged}'${unique}`,
        `insert into ${table} select * from forged`,
      ]);
      expect(findings).toEqual([{ kind: "row_inserted", source, id: forged, batch: expect.any(Number) }]);
    },
  );

  test("that is duplicated is named", async () => {
    const { findings } = await report([
      "alter table mint drop constraint mint_pkey",
      `insert into mint select * from mint where action_id = '${actionId}'`,
    ]);
    expect(findings).toMatchObject([{ kind: "row_inserted", source: "mint", id: actionId }]);
  });

  test.each(targets)("of a $source with an identifier of the future is named", async ({ source, table, id, rowId }) => {
    const hidden = "ffffffff-0000-7000-8000-000000000000";
    const { findings } = await report([`update ${table} set ${id} = '${hidden}' where ${id} = '${rowId}'`]);
    expect(findings).toContainEqual({ kind: "row_from_future", source, id: hidden });
  });

  test("with a value in a later column counts as changed", async () => {
    const { findings } = await report([
      "alter table mint add column later text",
      `update mint set later = 'x' where action_id = '${actionId}'`,
    ]);
    expect(findings).toMatchObject([{ kind: "row_changed", source: "mint", id: actionId }]);
  });

  test("without a value in a later column is unchanged", async () => {
    expect((await report(["alter table mint add column later text"])).findings).toEqual([]);
  });
});

describe("a seal", () => {
  const heads = [{ batch: newest, hash: sealHash(last?.statement ?? "") }];

  test.each<[string, string, readonly object[]]>([
    ["the first removed", "delete from seal where batch = 1", [{ kind: "seal_removed", batch: 1, throughBatch: 1 }]],
    [
      "one in between removed",
      "delete from seal where batch = 2",
      [{ kind: "seal_removed", batch: 2, throughBatch: 2 }],
    ],
    [
      "two swapped",
      "update seal set batch = -batch where batch in (2, 3); update seal set batch = 5 + batch where batch < 0",
      [
        { kind: "seal_unreadable", batch: 2 },
        { kind: "seal_unreadable", batch: 3 },
      ],
    ],
    [
      "one copied over another",
      "update seal set statement = (select statement from seal where batch = 1) where batch = 2",
      [
        { kind: "seal_unreadable", batch: 2 },
        { kind: "seal_not_chained", batch: 3 },
      ],
    ],
    [
      "its list changed",
      "update seal set entries = set_byte(entries, 16, get_byte(entries, 16) # 1) where batch = 2",
      [{ kind: "list_changed", batch: 2 }],
    ],
    [
      "its list shortened",
      "update seal set entries = substr(entries, 49) where batch = 2",
      [{ kind: "list_changed", batch: 2 }],
    ],
    [
      "a forged statement",
      "update seal set statement = 'a.b.c' where batch = 2",
      [
        { kind: "seal_unreadable", batch: 2 },
        { kind: "seal_not_chained", batch: 3 },
      ],
    ],
  ])("with %s is detected", async (_name, statement, want) => {
    expect((await report([statement])).findings).toEqual(want);
  });

  test("whose list is changed together with a row still shows a changed batch", async () => {
    const { findings } = await report([
      "update seal set entries = set_byte(entries, 16, get_byte(entries, 16) # 1)",
      `update mint set params_hash = 'x' where action_id = '${actionId}'`,
    ]);
    expect(findings.filter(({ kind }) => kind === "batch_changed")).toHaveLength(1);
    expect(findings.filter(({ kind }) => kind === "list_changed")).toHaveLength(newest);
  });

  test("signed by an unknown key is not authenticated, though it introduces that key", async () => {
    const { rows } = await examine(administrator, [key]);
    const other = await examineAfterResealing();
    expect(other.findings).toEqual([{ kind: "not_vouched", batch: 1, throughBatch: other.batches }]);
    expect(other.rows).toBe(rows);
  });

  test("that is removed with all later ones is detected by a kept later seal", async () => {
    const cut = `delete from seal where batch > ${newest - 1}`;
    expect((await report([cut], [key], { heads })).findings).toEqual([{ kind: "head_missing", batch: newest }]);
    const old = await report([cut], [key], { maxUnsealedMs: -1 });
    expect(old.findings).toEqual([{ kind: "unsealed_too_long" }]);
    expect(old.unsealed.rows).toBeGreaterThan(0);
  });

  test("that is removed with every other leaves rows unsealed for too long", async () => {
    const { findings, head } = await report(["truncate seal"], [key], { maxUnsealedMs: -1 });
    expect([findings, head]).toEqual([[{ kind: "unsealed_too_long" }], null]);
  });
});

/** The whole chain sealed again with access to the database and without the key. */
async function examineAfterResealing() {
  const kept = await administrator`select batch, statement, entries from seal`;
  await administrator.unsafe("alter table seal disable trigger all");
  await administrator`truncate seal`;
  await administrator.unsafe(
    "alter table seal enable always trigger append_only, enable always trigger append_only_whole",
  );
  await sealEverything(sealer(service, () => stranger));
  const found = await examine(administrator, [key]);
  await administrator.unsafe("alter table seal disable trigger all");
  await administrator`truncate seal`;
  await administrator.unsafe(
    "alter table seal enable always trigger append_only, enable always trigger append_only_whole",
  );
  for (const row of kept) await administrator`insert into seal ${administrator(row)}`;
  return found;
}
