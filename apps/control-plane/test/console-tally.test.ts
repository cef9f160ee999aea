import fc from "fast-check";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { byReason, overTime, readTally, shareByScope, tallied } from "../src/console/tally.ts";
import type { DecisionCount } from "../src/ports/decision-counts.ts";
import type { Sql } from "../src/postgres/database.ts";
import { decisionCounts } from "../src/postgres/decision-counts.ts";
import { recorder } from "./decision-rows.ts";
import { startPlane } from "./support.ts";

const hourMs = 3_600_000;
const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);

const counted = (rows: readonly DecisionCount[]) =>
  readTally(
    { clock: { nowMs: () => nowMs }, decisionCounts: { count: async () => rows, observedByScope: async () => [] } },
    24 * hourMs,
  );

const half = hourMs / 2;
const bucket = fc.integer({ min: 1, max: 48 }).map((back) => Math.floor(nowMs / half) * half - (back - 1) * half);
const row: fc.Arbitrary<DecisionCount> = fc.record({
  decision: fc.constantFrom("allow", "deny"),
  denyReason: fc.constantFrom("TAINT_BLOCKED", "TARGET_NOT_DECLARED"),
  enforced: fc.boolean(),
  taint: fc.constantFrom("trusted_internal", "untrusted_external"),
  scope: fc.constantFrom("a", "b", "c"),
  bucketStartMs: bucket,
  count: fc.integer({ min: 1, max: 50 }),
});
const allowsHaveNoReason = (rows: readonly DecisionCount[]): DecisionCount[] =>
  rows.map((one) => (one.decision === "allow" ? { ...one, denyReason: null } : one));
const sum = (figures: readonly number[]): number => figures.reduce((total, figure) => total + figure, 0);

test("every decision is in one outcome of one moment, in one scope, and in one reason where it is a deny", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 40 }).map(allowsHaveNoReason), async (rows) => {
      const tally = await counted(rows);
      const { starts, allowed, denied, observed, tainted } = overTime(tally);
      expect(starts.length).toBeLessThanOrEqual(49);
      expect(sum([...allowed, ...denied, ...observed])).toBe(tally.total);
      expect(sum(shareByScope(tally).map(({ total }) => total))).toBe(tally.total);
      expect(sum(shareByScope(tally).map((scope) => scope.observed))).toBe(sum(observed));
      expect(sum(byReason(tally).map(({ count }) => count))).toBe(sum(denied) + sum(observed));
      expect(sum(tainted)).toBeLessThanOrEqual(tally.total);
    }),
  );
});

test("where a span holds more than is looked at, what lies before is not shown as nothing", async () => {
  const recent = {
    decision: "allow",
    denyReason: null,
    enforced: true,
    taint: "trusted_internal",
    scope: "a",
  } as const;
  const oldest = Math.floor(nowMs / half) * half - half;
  const tally = await counted([{ ...recent, bucketStartMs: oldest, count: tallied }]);
  expect(tally.isCut).toBe(true);
  expect(overTime(tally).starts[0]).toBe(oldest / 1000);
});

describe("what the database counts", () => {
  let plane: Awaited<ReturnType<typeof startPlane>>;
  let records: Awaited<ReturnType<typeof recorder>>;
  beforeAll(async () => {
    plane = await startPlane();
    records = await recorder(plane);
  });
  afterAll(async () => {
    await records.sql.end();
    await plane.stop();
  });

  const observed = { decision: "deny", deny_reason: "TARGET_NOT_DECLARED", enforced: false };
  const of = (spanMs: number, newest: number) => ({ sinceMs: Date.now() - spanMs, bucketMs: hourMs, newest });
  const ago = (ms: number) => ({ decided_at: new Date(Date.now() - ms) });

  test("is what lies within the span, each in its moment, and no more than the newest", async () => {
    for (const row of [{}, { ...observed }, ago(hourMs / 2), { ...observed, ...ago(3 * hourMs) }, ago(48 * hourMs)]) {
      await records.record(row);
    }
    const count = (spanMs: number, newest: number) => plane.deps.decisionCounts.count(of(spanMs, newest));
    expect(sum((await count(24 * hourMs, 100)).map((row) => row.count))).toBe(4);
    expect(sum((await count(hourMs, 100)).map((row) => row.count))).toBe(3);
    const newest = await count(24 * hourMs, 2);
    expect(sum(newest.map((row) => row.count))).toBe(2);
    for (const { bucketStartMs, scope } of newest) {
      expect(Date.now() - bucketStartMs).toBeLessThan(2 * hourMs);
      expect(bucketStartMs % hourMs).toBe(0);
      expect(scope).toBe("expenses");
    }
  });

  test("of what was observed is by scope, whenever it was, and no more than the newest", async () => {
    const { observedByScope } = plane.deps.decisionCounts;
    expect(await observedByScope(100)).toEqual([{ scope: "expenses", count: 2 }]);
    expect(await observedByScope(1)).toEqual([{ scope: "expenses", count: 1 }]);
  });

  test("is read and no more, also while the statistics are behind a log that grows", async () => {
    const rows = Array.from({ length: 2_000 }, () => records.aRow());
    await records.sql`insert into decision ${records.sql(rows as never)}`;
    expect(await rowsRead((sql) => decisionCounts(sql, 5_000).count(of(24 * hourMs, 1_000)))).toBe(1_000);
  });

  /** Of the log, by the one statement that is sent. */
  async function rowsRead(ask: (sql: Sql) => Promise<unknown>): Promise<number> {
    const sent: { text: string; values: unknown[] }[] = [];
    const sql = postgres(plane.database.appUrl, {
      max: 1,
      types: { bigint: postgres.BigInt },
      debug: (_connection, text, values) => void sent.push({ text, values }),
    });
    try {
      await ask(sql);
      const { text = "", values = [] } = sent.findLast((one) => one.text.includes("from decision")) ?? {};
      const [row] = await sql.unsafe(`explain (analyze, format json) ${text}`, values as never[]);
      return scanned(row?.["QUERY PLAN"][0].Plan);
    } finally {
      await sql.end();
    }
  }
});

interface PlanNode {
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly Plans?: readonly PlanNode[];
}

const scanned = ({ Plans: inner = [], ...node }: PlanNode): number =>
  (node["Relation Name"]?.startsWith("decision") ? node["Actual Rows"] : 0) + sum(inner.map(scanned));
