import {
  type ChainMember,
  callEffect,
  callEffects,
  decide,
  type HopRequest,
  newMarks,
  newSessionMarks,
} from "@svc/core";
import { describe, expect, test } from "vitest";
import { effectVectors, type MarkVector, markVectors, toQuestion, type ViewVector, viewVectors } from "./src/index.ts";

type Called = Pick<MarkVector, "chain" | "target" | "effect" | "tokenTaint" | "declaredTaint">;

const hopOf = ({ chain, target, effect, tokenTaint, declaredTaint }: Called): HopRequest => ({
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

describe("the two views of a session's marks", () => {
  const edges = (pairs: ViewVector["delegations"] = [], observed: boolean) =>
    pairs.map(([from, to]) => ({ from, to, observed }));

  test.each(viewVectors)("$name", (vector) => {
    const { effects, marks, observedMarks, delegations, observedDelegations, want, wantObserved } = vector;
    const views = { enforced: marksOf(marks, undefined), observed: marksOf({ ...observedMarks, ...marks }, undefined) };
    const given = [...edges(delegations, false), ...edges(observedDelegations, true)];
    const added = newSessionMarks(hopOf({ ...vector, effect: effects.observed }), effects, views, given);
    const addedTo = (isObserved: boolean) =>
      new Map(added.filter(({ observed }) => observed === isObserved).map(({ member, source }) => [member, source]));
    expect([addedTo(false), addedTo(true)]).toEqual([marksOf(want, undefined), marksOf(wantObserved, undefined)]);
  });
});

describe("the effects of a decided call", () => {
  test.each(effectVectors)("$name", ({ name, question, enforced, want }) => {
    const { policy, hop, present } = toQuestion({ name, ...question });
    const verdict = decide(policy, hop, present);
    expect(verdict.outcome).toBe(question.want.outcome);
    expect(callEffect(policy, hop, verdict, enforced)).toEqual(want);
    const heeded = verdict.outcome === "allow" ? want : { kind: "none" };
    expect(callEffects(policy, hop, verdict, enforced)).toEqual({ enforced: heeded, observed: want });
  });
});
