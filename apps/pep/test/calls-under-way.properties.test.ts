import { TestTime } from "@svc/test-support/test-time";
import type { HopClaims } from "@svc/tokens";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createCallsUnderWay } from "../src/decide/calls-under-way.ts";
import { type Concern, concerns } from "../src/decide/pushed-acts.ts";

const refs = ["a", "b", "c"] as const;
const act: fc.Arbitrary<Concern> = fc.oneof(
  fc.record({ kind: fc.constantFrom("session", "target"), ref: fc.constantFrom(...refs) }),
  fc.record({ kind: fc.constant("agent"), ref: fc.constantFrom(...refs), isFinal: fc.boolean() }),
  fc.constant({ kind: "every" }),
);
const call = fc.record({
  session: fc.constantFrom(...refs),
  agent: fc.constantFrom(...refs),
  aud: fc.constantFrom(...refs),
});
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("act"), act, times: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("call"), call }) },
  fc.record({ kind: fc.constant("end"), nth: fc.nat() }),
  fc.record({ kind: fc.constant("decided"), nth: fc.nat() }),
  fc.record({ kind: fc.constant("pass"), ms: fc.integer({ min: 1, max: 4_000 }) }),
);

/** A call through one agent; its decisions end when the test says so. */
function callOf({ session, agent, aud }: { session: string; agent: string; aud: string }, nowMs: () => number) {
  const claims = { sub: "user", aud, act: { sub: "lender", act: { sub: agent, act: { sub: "user" } } } };
  const decisions: { readonly atMs: number; readonly end: () => void }[] = [];
  return {
    decisions,
    isEnded: false,
    end: () => {},
    concerned: { sessionId: session, claims: claims as unknown as HopClaims },
    again(): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      decisions.push({ atMs: nowMs(), end: resolve });
      return promise;
    },
  };
}

test("acts in any order and repetition have exactly the calls decided again that they concern, after them", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.double({ min: 0, max: 0.99, noNaN: true }),
      async (steps, spread) => {
        const time = new TestTime();
        const { monotonicMs, after } = time;
        const underWay = createCallsUnderWay({ monotonicMs, after, random: () => spread });
        const calls: (ReturnType<typeof callOf> & { readonly addedMs: number })[] = [];
        const acts: { readonly act: Concern; readonly atMs: number }[] = [];
        const endDecision = (nth: number) => {
          const open = calls.flatMap(({ decisions }) => decisions);
          open[nth % Math.max(1, open.length)]?.end();
        };
        for (const each of steps) {
          if (each.kind === "act") {
            acts.push({ act: each.act, atMs: monotonicMs() });
            for (let n = 0; n < each.times; n += 1) underWay.take(each.act);
          }
          if (each.kind === "call") {
            const added = { ...callOf(each.call, monotonicMs), addedMs: monotonicMs() };
            added.end = underWay.add({ ...added.concerned, again: added.again });
            calls.push(added);
          }
          if (each.kind === "end") {
            const ended = calls[each.nth % Math.max(1, calls.length)];
            ended?.end();
            if (ended) ended.isEnded = true;
          }
          if (each.kind === "decided") endDecision(each.nth);
          if (each.kind === "pass") await time.advance(each.ms);
          await Promise.resolve();
        }
        // Every decision ends, so that those that wait begin.
        for (let before = -1, now = 0; before !== now; ) {
          before = now;
          await time.advance(500);
          for (const { decisions } of calls) for (const { end } of decisions) end();
          await time.advance(0);
          now = calls.reduce((sum, { decisions }) => sum + decisions.length, 0);
        }
        for (const { concerned, decisions, isEnded, addedMs } of calls) {
          const of = acts.filter(({ act, atMs }) => concerns(act, concerned) && atMs > addedMs - 5_000);
          if (of.length === 0) expect(decisions).toEqual([]);
          const last = of.at(-1);
          if (last && !isEnded) expect(decisions.at(-1)?.atMs).toBeGreaterThanOrEqual(Math.max(last.atMs, addedMs));
        }
      },
    ),
    { numRuns: 300 },
  );
});

test("more acts in a moment than are remembered concern every call that begins then", () => {
  const underWay = createCallsUnderWay({ monotonicMs: () => 0, after: (_ms, run) => run(), random: () => 0 });
  for (let n = 0; n < 300; n += 1) underWay.take({ kind: "session", ref: `${n}` });
  const begun = callOf({ session: "other", agent: "a", aud: "a" }, () => 0);
  underWay.add({ ...begun.concerned, again: begun.again });
  expect(begun.decisions).toHaveLength(1);
});

test("eight decisions at once, and the others as those end", async () => {
  const underWay = createCallsUnderWay({ monotonicMs: () => 0, after: (_ms, run) => run(), random: () => 0 });
  const calls = Array.from({ length: 20 }, () => callOf({ session: "a", agent: "a", aud: "a" }, () => 0));
  for (const { concerned, again } of calls) underWay.add({ ...concerned, again });
  underWay.take({ kind: "session", ref: "a" });
  const begun = () => calls.flatMap(({ decisions }) => decisions);
  expect(begun()).toHaveLength(8);
  for (const { end } of begun()) end();
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun()).toHaveLength(16);
});
