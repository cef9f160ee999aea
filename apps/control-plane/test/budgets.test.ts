import { expect, test } from "vitest";
import { budgets } from "../src/budgets.ts";

/** An enforcement point waits so long for one step of a hop (docs/reference/enforcement-point.md#time-limits). */
const stepMs = 1_000;

test("every budget of a hop ends before its caller stops waiting", () => {
  const { statement, commit, read, lock, replayGuard, rateLimit, probe } = budgets;
  expect(Math.max(statement, commit, read, lock, replayGuard, rateLimit, probe)).toBeLessThan(stepMs);
  // The server cancels a statement before its caller gives up on the commit.
  expect(statement).toBeLessThan(commit);
});
