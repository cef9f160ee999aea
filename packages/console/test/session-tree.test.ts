import type { DecisionRecord } from "@svc/core";
import { expect, test } from "vitest";
import { treeOf } from "../src/session-tree.ts";

test("a tree has the calls of one millisecond as they were recorded", () => {
  const at = (actionId: string, parentActionId: string | null) =>
    ({ actionId, parentActionId, decidedAtMs: 1, hop: parentActionId === null ? 1 : 2 }) as DecisionRecord;
  const recorded = [at("person", null), at("first", "person"), at("second", "person"), at("below", "first")];
  expect(treeOf(recorded.toReversed()).map(({ record, depth }) => [record.actionId, depth])).toEqual([
    ["person", 0],
    ["first", 1],
    ["below", 2],
    ["second", 1],
  ]);
});
