import { allowMatches, chainBreakReasons, walkChain } from "@svc/core";
import { describe, expect, test } from "vitest";
import { allowVectors, chainWalkVectors } from "./src/index.ts";

describe("the chain from an action back to the person", () => {
  test.each(chainWalkVectors)("$name", ({ hops, want }) => {
    const action = hops.at(-1);
    if (action === undefined) throw new Error("a row has at least its action");
    const chain = walkChain(action, new Map(hops.map((hop) => [hop.record.actionId, hop])));
    expect({ reached: chain.hops.map(({ hop }) => hop), break: chain.break }).toEqual(want);
  });

  test("the table covers every break reason", () => {
    const answers = new Set(chainWalkVectors.map(({ want }) => want.break?.reason));
    expect(chainBreakReasons.filter((reason) => !answers.has(reason))).toEqual([]);
  });
});

describe("the allow that an exchange spends", () => {
  test.each(allowVectors)("$name: $want", ({ record, request, elapsedMs, want }) => {
    expect(allowMatches(record, request, record.decidedAtMs + elapsedMs)).toBe(want);
  });
});
