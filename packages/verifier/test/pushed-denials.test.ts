import type { PushedKind } from "@svc/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { pushedDenials } from "../src/pushed-denials.ts";
import { hopClaims, sessionId, target } from "./support/tokens.ts";

type Act = readonly [kind: PushedKind, members: object];

const planner = { block: { kind: "agent", ref: "planner" } };
const tool = { block: { kind: "tool", ref: target } };
const acts: readonly Act[] = [
  ["session_revoked", { session_id: sessionId }],
  ["session_revoked", { session_id: "another" }],
  ["agent_revoked", { agent: "planner" }],
  ["agent_quarantined", { agent: "planner" }],
  ["quarantine_lifted", { agent: "planner" }],
  ["block_set", planner],
  ["block_lifted", planner],
  ["block_set", tool],
  ["block_lifted", tool],
  ["key_removed", { kid: "k" }],
  ["issuer_epoch_raised", { not_before: "2100-01-01T00:00:00.000Z" }],
];
const none = { session_id: null, agent: null, block: null, kid: null, not_before: null };

/** Events of acts in the order in which they were done, a second apart. */
const history = fc.array(fc.constantFrom(...acts), { maxLength: 12 }).map((done) =>
  done.map(([kind, members], at) => {
    const ts = new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString();
    return { event: kind, data: JSON.stringify({ event_id: `${at}`, ts, kind, ...none, ...members }), id: undefined };
  }),
);
const claims = hopClaims();

function refusals(events: readonly { event: string; data: string; id: undefined }[]) {
  const revoked = new Set<string>();
  const denials = pushedDenials(() => 0, 70_000, {
    onRevoked: (agent) => revoked.add(agent),
    onIdentity() {},
    onReset() {},
  });
  for (const event of events) denials.take(event);
  return {
    denied: denials.has(claims),
    revoked: revoked.has("planner"),
    superseded: denials.isSuperseded(claims),
    removed: denials.isRemovedKey("k"),
  };
}

test("events in any order, each any number of times, refuse at least what they refuse in order", () => {
  const disordered = history.chain((events) =>
    fc.tuple(
      fc.constant(events),
      fc
        .array(fc.nat({ max: Math.max(0, events.length - 1) }), { maxLength: 12 })
        .map((again) => [...events, ...again.flatMap((at) => events[at] ?? [])])
        .chain((repeated) => fc.shuffledSubarray(repeated, { minLength: repeated.length })),
    ),
  );
  fc.assert(
    fc.property(disordered, ([events, received]) => {
      const got = refusals(received);
      for (const [what, isRefused] of Object.entries(refusals(events))) {
        if (isRefused) expect(got).toMatchObject({ [what]: true });
      }
    }),
    { numRuns: 500 },
  );
});

test("a stream that is resumed at any earlier position, any number of times, refuses exactly what it refuses uncut", () => {
  const resumed = history.chain((events) =>
    fc.tuple(
      fc.constant(events),
      fc.array(fc.tuple(fc.nat({ max: events.length }), fc.nat({ max: events.length })), { maxLength: 4 }),
    ),
  );
  fc.assert(
    fc.property(resumed, ([events, cuts]) => {
      const received: (typeof events)[number][] = [];
      let reached = 0;
      for (const [from, to] of [...cuts, [0, events.length] as const]) {
        const start = Math.min(from, reached);
        reached = Math.max(start, to, reached);
        received.push(...events.slice(start, reached));
      }
      expect(refusals(received)).toEqual(refusals(events));
    }),
    { numRuns: 500 },
  );
});
