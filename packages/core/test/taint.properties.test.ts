import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { HopRequest } from "../src/hop.ts";
import { type ChainMember, highestTaint, type Taint, taints } from "../src/kinds.ts";
import {
  type CallEffect,
  classifySource,
  type Delegation,
  effectiveTaint,
  type MarkSource,
  newMarks,
  newSessionMarks,
  type SessionDelegation,
} from "../src/taint.ts";
import { agents, optional, taint } from "./arbitraries.ts";

/** A session's history: calls as they may come, each with what it leaves behind. */
interface Call {
  readonly chain: readonly string[];
  readonly target: string;
  readonly effect: CallEffect;
  readonly tokenTaint: Taint;
  readonly declaredTaint: Taint | undefined;
}

const effect: fc.Arbitrary<CallEffect> = fc.oneof(
  fc.constant<CallEffect>({ kind: "none" }),
  taint.map((level): CallEffect => ({ kind: "results", taint: level })),
  fc.constant<CallEffect>({ kind: "delegation" }),
);

const call: fc.Arbitrary<Call> = fc.record({
  chain: fc.shuffledSubarray([...agents], { maxLength: 3 }),
  target: fc.constantFrom(...agents),
  effect,
  // Rare, or every history is tainted from its first call on.
  tokenTaint: fc.constantFrom(...taints, "trusted_internal", "trusted_internal", "trusted_internal"),
  declaredTaint: fc.option(taint, { nil: undefined, freq: 3 }),
});

const history = fc.array(call, { maxLength: 12 });

const hopOf = ({ chain, target, effect, tokenTaint, declaredTaint }: Call): HopRequest => ({
  hop: chain.length + 1,
  chain,
  target: effect.kind === "results" ? "http:web/browse" : target,
  targetKind: effect.kind === "results" ? "tool" : "agent",
  dataClass: "finance",
  narrowedTo: undefined,
  tokenTaint,
  declaredTaint,
});

interface Session {
  readonly marks: ReadonlyMap<ChainMember, MarkSource>;
  readonly delegations: readonly Delegation[];
}

function after(session: Session, next: Call): Session {
  const added = newMarks(hopOf(next), next.effect, session.marks, session.delegations);
  const from = next.chain.at(-1);
  return {
    marks: new Map([...session.marks, ...added.map(({ member, source }) => [member, source] as const)]),
    delegations:
      next.effect.kind === "delegation" && from !== undefined
        ? [...session.delegations, { from, to: next.target }]
        : session.delegations,
  };
}

const fresh: Session = { marks: new Map(), delegations: [] };
/** The session after each call, the fresh one first. */
function replay(calls: readonly Call[]): readonly Session[] {
  const sessions = [fresh];
  for (const next of calls) sessions.push(after(sessions.at(-1) ?? fresh, next));
  return sessions;
}
const last = (calls: readonly Call[]): Session => replay(calls).at(-1) ?? fresh;

describe("marks", () => {
  test("are never removed, and never change their source", () => {
    fc.assert(
      fc.property(history, (calls) => {
        const sessions = replay(calls);
        const final = sessions.at(-1) ?? fresh;
        for (const { marks } of sessions)
          for (const [member, source] of marks) expect(final.marks.get(member)).toBe(source);
      }),
    );
  });

  test("reach every agent that delegated to a marked agent", () => {
    fc.assert(
      fc.property(history, (calls) => {
        const { marks, delegations } = last(calls);
        for (const { from, to } of delegations) if (marks.has(to)) expect(marks.has(from)).toBe(true);
      }),
    );
  });

  test("are those that the rules give when applied until nothing changes", () => {
    fc.assert(
      fc.property(history, (calls) => {
        expect(new Set(last(calls).marks.keys())).toEqual(markedByHand(calls));
      }),
      { numRuns: 1_000 },
    );
  });

  test("have a cause: without an untrusted call, claim or declaration no agent is marked", () => {
    const quietCall = call.map(
      (one): Call => ({
        ...one,
        tokenTaint: "trusted_internal",
        declaredTaint: undefined,
        effect: one.effect.kind === "results" ? { kind: "results", taint: "trusted_internal" } : one.effect,
      }),
    );
    fc.assert(fc.property(fc.array(quietCall), (calls) => last(calls).marks.size === 0));
  });

  test("do not reach an agent outside the calls", () => {
    fc.assert(
      fc.property(history, (calls) => {
        const involved = new Set<ChainMember>([null, ...calls.flatMap(({ chain, target }) => [...chain, target])]);
        for (const member of last(calls).marks.keys()) expect(involved.has(member)).toBe(true);
      }),
    );
  });

  test("only grow with more taint: one more untrusted declaration marks no fewer agents", () => {
    fc.assert(
      fc.property(history, fc.nat(), (calls, at) => {
        fc.pre(calls.length > 0);
        const worse = calls.map(
          (one, index): Call => (index === at % calls.length ? { ...one, declaredTaint: "untrusted_external" } : one),
        );
        const marked = last(worse).marks;
        for (const member of last(calls).marks.keys()) expect(marked.has(member)).toBe(true);
      }),
    );
  });
});

/** The rules of docs/reference/decision.md#effective-taint, one by one, over and over. */
function markedByHand(calls: readonly Call[]): Set<ChainMember> {
  const marked = new Set<ChainMember>();
  const edges: Delegation[] = [];
  for (const { chain, target, effect, tokenTaint, declaredTaint } of calls) {
    const caller = chain.at(-1) ?? null;
    const tainted =
      [tokenTaint, declaredTaint].includes("untrusted_external") ||
      [null, ...chain].some((member) => marked.has(member));
    if (declaredTaint === "untrusted_external") marked.add(caller);
    if (effect.kind === "results" && effect.taint === "untrusted_external")
      for (const member of chain.length > 0 ? chain : [null]) marked.add(member);
    if (effect.kind === "delegation") {
      if (tainted) marked.add(target);
      if (marked.has(target)) for (const member of chain) marked.add(member);
      if (caller !== null) edges.push({ from: caller, to: target });
    }
    let before: number;
    do {
      before = marked.size;
      for (const { from, to } of edges) if (marked.has(to)) marked.add(from);
    } while (marked.size > before);
  }
  return marked;
}

/** A step in a session of real tokens: the holder of some token calls a tool or delegates. */
interface Step {
  readonly holder: number;
  readonly target: string;
  readonly effect: CallEffect;
  readonly declaredTaint: Taint | undefined;
}

const steps = fc.array(
  fc.record<Step>({ holder: fc.nat(), target: fc.constantFrom(...agents), effect, declaredTaint: optional(taint) }),
  { maxLength: 15 },
);

test("no sequence of hops lowers taint, neither down a chain nor for one token later in the session", () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      const tokens: { chain: readonly string[]; taint: Taint }[] = [{ chain: [], taint: "trusted_internal" }];
      let session = fresh;
      const seen: Taint[] = [];
      for (const { holder, target, effect, declaredTaint } of sequence) {
        const position = holder % tokens.length;
        const token = tokens[position];
        if (token === undefined || token.chain.includes(target)) continue;
        const step: Call = { chain: token.chain, target, effect, tokenTaint: token.taint, declaredTaint };
        const now = effectiveTaint(hopOf(step), session.marks).taint;
        const undeclared = effectiveTaint(hopOf({ ...step, declaredTaint: undefined }), session.marks).taint;
        expect(now).toBe(
          highestTaint(
            now,
            undeclared,
            token.taint,
            declaredTaint ?? "trusted_internal",
            seen[position] ?? "trusted_internal",
          ),
        );
        session = after(session, step);
        // The caller's own word outlives its request.
        seen[position] = now;
        if (effect.kind === "delegation") tokens.push({ chain: [...token.chain, target], taint: now });
      }
    }),
    { numRuns: 500 },
  );
});

test.each([
  [[], "trusted_internal"],
  [["trusted_internal"], "trusted_internal"],
  [["trusted_internal", "trusted_internal"], "trusted_internal"],
  [["trusted_internal", "untrusted_external"], "untrusted_external"],
  [["untrusted_external", "trusted_internal"], "untrusted_external"],
] as const)("the highest of %j is %s", (levels, highest) => expect(highestTaint(...levels)).toBe(highest));

test.each([
  ["http:ledger/read", ["http:ledger/read"], "trusted_internal"],
  ["http:ledger/read", ["http:crm/read", "http:ledger/read"], "trusted_internal"],
  ["http:ledger/read", [], "untrusted_external"],
  ["http:ledger/read", ["http:ledger"], "untrusted_external"],
  ["http:ledger", ["http:ledger/read"], "untrusted_external"],
  ["http:ledger/read", ["HTTP:ledger/read"], "untrusted_external"],
  ["", ["http:ledger/read"], "untrusted_external"],
] as const)("a value from %j, trusting %j, is %s", (source, trusted, level) =>
  expect(classifySource(source, trusted)).toBe(level),
);

describe("a history in which some denies are only observed", () => {
  /** True: the call was denied and forwarded. */
  const mixed = fc.array(fc.tuple(call, fc.boolean()), { maxLength: 12 });
  const nothing: CallEffect = { kind: "none" };
  const members = (marks: ReadonlyMap<ChainMember, MarkSource>) => new Set(marks.keys());

  /** Both views after the history, as a session keeps them. */
  function viewsAfter(steps: readonly (readonly [Call, boolean])[]) {
    const enforced = new Map<ChainMember, MarkSource>();
    const observed = new Map<ChainMember, MarkSource>();
    const delegations: SessionDelegation[] = [];
    for (const [next, isObservedDeny] of steps) {
      const effects = { enforced: isObservedDeny ? nothing : next.effect, observed: next.effect };
      const added = newSessionMarks(hopOf(next), effects, { enforced, observed }, delegations);
      for (const { member, source, observed: isObserved } of added) {
        observed.set(member, source);
        if (!isObserved) enforced.set(member, source);
      }
      const from = next.chain.at(-1);
      if (next.effect.kind === "delegation" && from !== undefined) {
        delegations.push({ from, to: next.target, observed: isObservedDeny });
      }
    }
    return { enforced, observed };
  }

  test("leaves to enforced decisions what it would leave had those calls never been made", () => {
    fc.assert(
      fc.property(mixed, (steps) => {
        const blocked = steps.map(([next, isObservedDeny]) => (isObservedDeny ? { ...next, effect: nothing } : next));
        expect(members(viewsAfter(steps).enforced)).toEqual(members(last(blocked).marks));
      }),
    );
  });

  test("leaves to observed decisions what it would leave had every call been allowed", () => {
    fc.assert(
      fc.property(mixed, (steps) => {
        expect(members(viewsAfter(steps).observed)).toEqual(members(last(steps.map(([next]) => next)).marks));
      }),
    );
  });
});
