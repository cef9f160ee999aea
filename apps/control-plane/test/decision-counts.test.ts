import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { poolOf } from "../src/postgres/database.ts";
import { decisionCounts } from "../src/postgres/decision-counts.ts";
import { recorder } from "./decision-rows.ts";
import { rowsRead } from "./rows-read.ts";
import { startPlane } from "./support.ts";

const hourMs = 3_600_000;
const sum = (figures: readonly number[]): number => figures.reduce((total, figure) => total + figure, 0);

describe("a count of decisions", () => {
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

  test("covers the span, each decision in its bucket, up to the newest N", async () => {
    for (const row of [{}, { ...observed }, ago(hourMs / 2), { ...observed, ...ago(3 * hourMs) }, ago(48 * hourMs)]) {
      await records.record(row);
    }
    const count = (spanMs: number, newest: number) => plane.deps.audit.countDecisions(of(spanMs, newest));
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

  test("reads only the newest rows, also while the table's statistics are outdated", async () => {
    const rows = Array.from({ length: 2_000 }, () => records.aRow());
    await records.sql`insert into decision ${records.sql(rows as never)}`;
    expect(
      await rowsRead(plane.database.appUrl, (sql) =>
        decisionCounts(poolOf(sql, 5_000)).countDecisions(of(24 * hourMs, 1_000)),
      ),
    ).toBe(1_000);
  });
});
