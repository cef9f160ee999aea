import { afterAll, beforeAll, expect, test } from "vitest";
import { type Pool, poolOf } from "../src/postgres/database.ts";
import { decisionCounts } from "../src/postgres/decision-counts.ts";
import { decisionPages } from "../src/postgres/decision-pages.ts";
import { sessionStories } from "../src/postgres/session-story.ts";
import { recorder } from "./decision-rows.ts";
import { rowsRead } from "./rows-read.ts";
import { query, startPlane } from "./support.ts";

const busyRows = 20_000;
const quietRows = 3;
let plane: Awaited<ReturnType<typeof startPlane>>;
let quiet: string;

/** By the statistics each session has half of the log, so that a walk through all of it seems to find rows soon. */
beforeAll(async () => {
  plane = await startPlane();
  const { sql, aRow, record, consent } = await recorder(plane);
  quiet = await consent("expenses", "quentin");
  for (let row = 0; row < quietRows; row++) await record({ session_id: quiet, hop: 2, chain: ["planner"] });
  for (let written = 0; written < busyRows; written += 1_000) {
    await sql`insert into decision ${sql(Array.from({ length: 1_000 }, () => aRow()) as never)}`;
  }
  await sql.end();
  await query(plane.database.superuserUrl, "analyze decision");
});
afterAll(() => plane.stop());

const ofQuentin = { userSub: "quentin" };
const reads: readonly [string, (pool: Pool) => Promise<unknown>][] = [
  ["newest decisions", (pool) => decisionPages(pool)({ filter: ofQuentin, after: undefined, limit: 2 })],
  [
    "oldest decisions",
    (pool) => decisionPages(pool)({ filter: ofQuentin, after: undefined, limit: 2, order: "oldest" }),
  ],
  ["totals", (pool) => sessionStories(pool).sessionTotals(quiet, 5_000)],
  ["counts", (pool) => decisionCounts(pool).countCalls({ sinceMs: 0, newest: 5_000, of: ofQuentin })],
];

test.each(reads)("the %s of a session of few rows read only these, beside one of many", async (_what, read) => {
  const rows = await rowsRead(plane.database.appUrl, (sql) => read(poolOf(sql, 5_000)));
  expect(rows).toBeLessThanOrEqual(quietRows);
});
