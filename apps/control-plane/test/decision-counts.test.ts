import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CallsOf } from "../src/ports/audit-reads.ts";
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

  test("by caller and target, or by person, covers an agent's own calls, a target's, or a person's", async () => {
    const { countCalls, countPeople } = plane.deps.audit;
    const call = {
      acting_agent: "counter",
      hop: 2,
      chain: ["counter"],
      target: "http:counted/read",
      target_kind: "tool",
    };
    const session_id = await records.consent("expenses", "vera");
    await records.record({ ...call, ...ago(48 * hourMs) });
    await records.record({ ...call, ...observed, enforced: true });
    await records.record({ ...call, session_id });
    await records.record({ acting_agent: "counter", hop: 1, session_id });
    const recent = { sinceMs: Date.now() - hourMs, newest: 100 };
    const counted = async (of: CallsOf) =>
      (await countCalls({ ...recent, of }))
        .map(({ actingAgent, byPerson, target, denyReason, count }) => [
          actingAgent,
          byPerson,
          target,
          denyReason,
          count,
        ])
        .toSorted();
    const allowed = ["counter", false, "http:counted/read", null, 1];
    const denied = ["counter", false, "http:counted/read", "TARGET_NOT_DECLARED", 1];
    expect(await counted({ agent: "counter" })).toEqual([allowed, denied]);
    expect(await counted({ target: "http:counted/read" })).toEqual([allowed, denied]);
    expect(await counted({ userSub: "vera" })).toEqual([allowed, ["counter", true, "planner", null, 1]]);
    const people = await countPeople({ ...recent, limit: 5, of: { target: "http:counted/read" } });
    expect(people.map(({ userSub, count, denied: refused }) => [userSub, count, refused])).toEqual([
      ["ada", 1, 1],
      ["vera", 1, 0],
    ]);
  });

  test("reads only the newest rows, also while the table's statistics are outdated", async () => {
    const rows = Array.from({ length: 2_000 }, () => records.aRow());
    await records.sql`insert into decision ${records.sql(rows as never)}`;
    expect(
      await rowsRead(plane.database.appUrl, (sql) =>
        decisionCounts(poolOf(sql, 5_000)).countDecisions(of(24 * hourMs, 1_000)),
      ),
    ).toBeLessThanOrEqual(1_001);
  });

  test.each<[string, CallsOf | undefined]>([
    ["all callers", undefined],
    ["an agent", { agent: "planner" }],
    ["a target", { target: "mcp:ledger/read" }],
    ["a person", { userSub: "ada" }],
  ])("by caller and target of %s reads only the newest rows", async (_whose, of) => {
    const rows = Array.from({ length: 2_000 }, () =>
      records.aRow({
        acting_agent: "planner",
        hop: 2,
        chain: ["planner"],
        target: "mcp:ledger/read",
        target_kind: "tool",
      }),
    );
    await records.sql`insert into decision ${records.sql(rows as never)}`;
    const recent = { sinceMs: Date.now() - 24 * hourMs, newest: 1_000, of };
    expect(
      await rowsRead(plane.database.appUrl, (sql) => decisionCounts(poolOf(sql, 5_000)).countCalls(recent)),
    ).toBeLessThanOrEqual(1_001);
  });
});
