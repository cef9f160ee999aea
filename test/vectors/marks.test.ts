import { type ChainMember, callEffect, decide, type HopRequest, newMarks } from "@svc/core";
import { describe, expect, test } from "vitest";
import { effectVectors, type MarkVector, markVectors, toQuestion } from "./src/index.ts";

const hopOf = ({ chain, target, effect, tokenTaint, declaredTaint }: MarkVector): HopRequest => ({
  hop: chain.length + 1,
  chain,
  target,
  targetKind: effect.kind === "delegation" ? "agent" : "tool",
  dataClass: "finance",
  narrowedTo: undefined,
  tokenTaint: tokenTaint ?? "trusted_internal",
  declaredTaint,
});

const marksOf = (agents: Readonly<Record<string, string>> = {}, human: string | undefined) =>
  new Map<ChainMember, string>([...Object.entries(agents), ...(human === undefined ? [] : [[null, human] as const])]);

describe("the taint marks of a call", () => {
  test.each(markVectors)("$name", (vector) => {
    const delegations = (vector.delegations ?? []).map(([from, to]) => ({ from, to }));
    const added = newMarks(hopOf(vector), vector.effect, marksOf(vector.marks, vector.humanMark), delegations);
    expect(new Map(added.map(({ member, source }) => [member, source]))).toEqual(
      marksOf(vector.want, vector.wantOnHuman),
    );
    expect(added).toHaveLength(new Set(added.map(({ member }) => member)).size);
  });
});

describe("the effects of a decided call", () => {
  test.each(effectVectors)("$name", ({ name, question, enforced, want }) => {
    const { policy, hop, present } = toQuestion({ name, ...question });
    const verdict = decide(policy, hop, present);
    expect(verdict.outcome).toBe(question.want.outcome);
    expect(callEffect(policy, hop, verdict, enforced)).toEqual(want);
  });
});
