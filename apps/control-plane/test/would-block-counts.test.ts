import { randomBytes } from "node:crypto";
import { waitUntil } from "@svc/test-support";
import { afterAll, describe, expect, test } from "vitest";
import type { Span } from "../src/ports/audit-reads.ts";
import { poolOf } from "../src/postgres/database.ts";
import { wouldBlockReads } from "../src/postgres/would-block/reads.ts";
import { wouldBlockScopeReads } from "../src/postgres/would-block/scopes.ts";
import { rowsRead } from "./rows-read.ts";
import { query } from "./support.ts";
import { countedPlane, everything, observedDeny } from "./would-block-counts.ts";

const { plane, records, owner, counts, list, listFromLog, count, record, stop } = await countedPlane();
afterAll(stop);
const { aRow } = records;

let names = 0;
const anObservedDeny = (changes = {}) => aRow({ ...observedDeny, target: `tool-${++names}`, ...changes });
const countAll = async () => {
  while ((await count()) > 0);
};
const isListed = async (target: string) => (await list(everything)).some((group) => group.target === target);
const through = async (): Promise<bigint> => {
  const [row] = await owner<{ through: string }[]>`select through from would_block_progress`;
  return BigInt(row?.through ?? 0);
};

describe("counting", () => {
  test("changes nothing that the list shows", async () => {
    await record([...[1, 2, 3].flatMap(() => [anObservedDeny({ target: "one" }), anObservedDeny()]), aRow()]);
    const before = await list(everything);
    expect(before).toEqual(await listFromLog(everything));
    expect(await count(2)).toBe(2);
    expect(await list(everything)).toEqual(before);
    expect(await count()).toBe(4);
    expect(await list(everything)).toEqual(before);
    expect(await count()).toBe(0);
  });

  test("changes nothing in any read beside it", async () => {
    await record(Array.from({ length: 400 }, (_, n) => anObservedDeny({ target: `tool-${n % 9}` })));
    const before = await listFromLog(everything);
    let isDone = false;
    const counting = (async () => {
      while ((await count(5)) > 0);
      isDone = true;
    })();
    let reads = 0;
    while (!isDone) {
      expect(await list(everything)).toEqual(before);
      reads++;
    }
    await counting;
    expect(reads).toBeGreaterThan(5);
  });

  test("waits for a row that got its position before and is not committed", async () => {
    const [early, late] = [anObservedDeny(), anObservedDeny()];
    const first = await records.sql.reserve();
    await first`begin`;
    await first`insert into decision ${first(early as never)}`;
    await record([late]);
    const waited = { counted: await count(), isLateListed: await isListed(late.target) };
    await first`commit`;
    first.release();
    expect(waited).toEqual({ counted: 0, isLateListed: true });
    expect(await isListed(early.target)).toBe(true);
    await countAll();
    expect(await list(everything)).toEqual(await listFromLog(everything));
  });

  test("waits for a writer that has a position and has not written yet", async () => {
    const [early, late] = [anObservedDeny(), anObservedDeny()];
    await owner`create function pause(id uuid) returns uuid language plpgsql as
      $$ begin perform pg_advisory_xact_lock(77); return id; end $$`;
    const gate = await owner.reserve();
    await gate`select pg_advisory_lock(77)`;
    const { action_id: id, ...rest } = early;
    const columns = Object.keys(rest);
    // The position is taken first, then the identifier waits.
    const writing = owner.unsafe(
      `insert into decision (seq, action_id, ${columns}) overriding system value
       select s.seq, pause($1), ${columns.map((name) => `r.${name}`)}
       from (select nextval('decision_seq_seq') as seq offset 0) s, json_populate_record(null::decision, $2) r`,
      [id, rest as never],
    );
    const isWaiting = async (): Promise<boolean> =>
      (await owner`select from pg_locks where locktype = 'advisory' and objid = 77 and not granted`).count > 0;
    await Promise.race([writing, waitUntil("the writer to wait", isWaiting)]);
    await record([late]);
    const counted = await count();
    await gate`select pg_advisory_unlock(77)`;
    gate.release();
    await writing;
    expect(counted).toBe(0);
    expect(await isListed(early.target)).toBe(true);
    await countAll();
    expect(await list(everything)).toEqual(await listFromLog(everything));
  });

  test("that is interrupted counts nothing, and the next counts all once", async () => {
    await record([anObservedDeny({ target: "interrupted" }), anObservedDeny({ target: "interrupted" })]);
    const cut = owner.begin(async (tx) => {
      await tx`select count_would_block_rows(1)`;
      throw new Error("killed");
    });
    await expect(cut).rejects.toThrow("killed");
    await countAll();
    const [group] = (await list(everything)).filter(({ target }) => target === "interrupted");
    expect(group?.count).toBe(2);
  });

  test("by several processes at once counts each row once", async () => {
    await record(Array.from({ length: 60 }, () => anObservedDeny({ target: "raced" })));
    while ((await Promise.all(Array.from({ length: 4 }, () => count(7)))).some((counted) => counted > 0));
    const [group] = (await list(everything)).filter(({ target }) => target === "raced");
    expect(group?.count).toBe(60);
  });

  test("keeps scopes apart, and finds the rows of a slice that were counted one by one", async () => {
    await records.register("traveller", "travel");
    const travel = { session_id: await records.consent("travel") };
    const at = (minute: string) => ({ target: "sliced", decided_at: new Date(`2026-01-02T03:${minute}:00Z`) });
    await record([anObservedDeny(at("11")), anObservedDeny(at("13")), anObservedDeny({ ...at("15"), ...travel })]);
    while ((await count(1)) > 0);
    const [sinceMs, untilMs] = [Date.parse("2026-01-02T03:10:30Z"), Date.parse("2026-01-02T03:19:00Z")];
    const figures = await Promise.all(
      [{}, { sinceMs, untilMs }].flatMap((span) =>
        [undefined, "expenses", "travel"].map(async (scope) => {
          const groups = await list({ ...everything, ...span, scope });
          return groups.find(({ target }) => target === "sliced")?.count;
        }),
      ),
    );
    expect(figures).toEqual([3, 2, 1, 3, 2, 1]);
  });

  test("starts anew when the owner deletes the counts", async () => {
    const before = await list(everything);
    await owner.begin(async (tx) => {
      await tx`lock would_block_progress`;
      await tx`truncate would_block_group, would_block_count, would_block_slice, would_block_place`;
      await tx`update would_block_progress set through = 0`;
    });
    expect(await list(everything)).toEqual(before);
    await countAll();
    expect(await list(everything)).toEqual(before);
  });

  test("by the service's role takes turns", async () => {
    await record([anObservedDeny()]);
    const holder = await owner.reserve();
    await holder`begin`;
    await holder`select pg_advisory_xact_lock(7270125203)`;
    const whileHeld = await counts.countNext();
    await holder`rollback`;
    holder.release();
    expect(whileHeld).toBe("busy");
    expect(await counts.countNext()).toBe("more");
    expect(await counts.countNext()).toBe("done");
  });

  test("is refused where it would not see the newest rows", async () => {
    const old = owner.begin("isolation level repeatable read", (tx) => tx`select count_would_block_rows(1)`);
    await expect(old).rejects.toThrow("each statement must see the newest rows");
  });
});

describe("a page of the list", () => {
  const hourMs = Date.parse("2026-02-03T04:00:00Z");
  const rowsOfPage = (span: Span) =>
    rowsRead(plane.database.appUrl, (sql) =>
      wouldBlockReads(poolOf(sql, 5_000)).wouldBlocks({ ...everything, ...span }),
    );

  const choiceOfScopes = (sql: Parameters<typeof poolOf>[0]) =>
    wouldBlockScopeReads(poolOf(sql, 5_000)).observedByScope(1_000);

  test("reads no counted row of the log, and for a span at most those of two slices", async () => {
    const every = (ms: number) => ({ target: `slow-${ms % 3}`, decided_at: new Date(hourMs + ms) });
    await record(Array.from({ length: 360 }, (_, n) => anObservedDeny(every(n * 30_000))));
    await countAll();
    await owner`analyze`;
    expect(await rowsOfPage({})).toBe(0);
    expect(await rowsRead(plane.database.appUrl, (sql) => choiceOfScopes(sql))).toBe(0);
    expect(await rowsOfPage({ sinceMs: hourMs, untilMs: hourMs + 3 * 3_600_000 })).toBe(0);
    const odd = await rowsOfPage({ sinceMs: hourMs + 300_000, untilMs: hourMs + 2 * 3_600_000 + 90_000 });
    expect(odd).toBeGreaterThan(0);
    expect(odd).toBeLessThanOrEqual(2 * 20);
    await record([anObservedDeny()]);
    expect(await rowsOfPage({})).toBe(1);
  });
});

describe("a retired month", () => {
  const at = new Date("2021-05-06T07:08:09Z");
  const monthRow = () => anObservedDeny({ decided_at: at, target: "old" });

  test("leaves the list with its rows, and what is inserted for it later is listed", async () => {
    await owner`select make_decision_partition('2021-05-01')`;
    await record([monthRow(), monthRow(), monthRow()]);
    await count(2);
    await record([anObservedDeny({ decided_at: at, target: "only-old" })]);
    await countAll();
    await record([monthRow()]);
    const before = await listFromLog(everything);
    expect(await list(everything)).toEqual(before);
    await owner`update retention set keep_months = 13`;
    await owner`select retire_oldest_month()`;
    const after = await listFromLog(everything);
    expect(after.length).toBe(before.length - 2);
    expect(await list(everything)).toEqual(after);
    await record([monthRow()]);
    await countAll();
    const later = await listFromLog(everything);
    expect(later.length).toBe(after.length + 1);
    expect(await list(everything)).toEqual(later);
  });

  test("leaves no count, and no group without counts", async () => {
    await owner`select purge_retired_counts()`;
    const late = await listFromLog(everything);
    expect(await list(everything)).toEqual(late);
    const [left] = await owner`
      select (select count(*)::int from would_block_count where month = '2021-05-01') as counts,
        (select count(*)::int from would_block_slice where month = '2021-05-01') as slices,
        (select count(*)::int from would_block_place where month = '2021-05-01') as places,
        (select count(*)::int from would_block_group where target = 'only-old') as groups`;
    expect(left).toEqual({ counts: 0, slices: 0, places: 0, groups: 0 });
  });
});

describe("the service's role", () => {
  test.each([
    "update would_block_progress set through = 0",
    "update would_block_count set count = 0",
    "delete from would_block_count",
    "insert into would_block_group (acting_agent, target, target_kind, deny_reason, class_hash, data_class) values ('a', 'b', 'tool', 'c', 'd', 'e')",
    "insert into would_block_slice values (now(), now(), 1, 2)",
    "delete from would_block_place",
    "select count_would_block_places(1, 2)",
    "select count_would_block_rows(1)",
  ])("cannot: %s", async (statement) => {
    await expect(query(plane.database.appUrl, statement)).rejects.toThrow(/permission denied/);
  });

  test("cannot keep later rows from the list by a forged position", async () => {
    const forged = anObservedDeny();
    const { action_id: id } = forged;
    const columns = Object.keys(forged).join();
    await records.sql.unsafe(
      `insert into decision (seq, ${columns}) overriding system value
       select 9000000000000000000, ${columns.split(",").map((name) => `r.${name}`)}
       from json_populate_record(null::decision, $1) r`,
      [forged as never],
    );
    await record([anObservedDeny()]);
    await countAll();
    const [next, last] = [anObservedDeny(), anObservedDeny()];
    await record([next]);
    await countAll();
    await record([last]);
    expect(await isListed(next.target)).toBe(true);
    expect(await isListed(last.target)).toBe(true);
    expect(await list(everything)).toEqual(await listFromLog(everything));
    expect(id).toBeDefined();
  });

  test.each([
    ["before every calendar", { decided_at: "4714-11-25 00:00:00+00 BC" }],
    ["in the last year there is", { decided_at: "294276-12-31 00:00:00+00" }],
    ["at no time", { decided_at: "infinity" }],
    ["with a target that no index takes", { target: randomBytes(6_000).toString("hex") }],
    ["of no time-ordered identifier", { action_id: "ffffffff-ffff-4fff-bfff-ffffffffffff" }],
  ])("cannot stop the counting by a row %s", async (_which, forged) => {
    const row = { ...anObservedDeny(), ...forged };
    const columns = Object.keys(row);
    await records.sql.unsafe(
      `insert into decision (${columns}) select ${columns.map((name) => `r.${name}`)}
       from json_populate_record(null::decision, $1) r`,
      [row as never],
    );
    const before = await through();
    await record([anObservedDeny()]);
    await countAll();
    expect(await through()).toBeGreaterThan(before + 1n);
  });
});
