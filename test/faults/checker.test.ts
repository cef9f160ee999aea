import { expect, test } from "vitest";
import type { Evidence, RecordedDecision } from "./src/checker/evidence.ts";
import { findViolations, type ViolationKind, violationKinds } from "./src/checker/violations.ts";

const record = (changes: Partial<RecordedDecision>): RecordedDecision => ({
  actionId: "a2",
  sessionId: "s",
  stage: "authorize",
  hop: 2,
  actingAgent: "clerk",
  target: "read",
  dataClass: "finance",
  decision: "allow",
  enforced: true,
  privileged: false,
  parentActionId: "a1",
  ...changes,
});
const delegation = record({ actionId: "a1", hop: 1, actingAgent: "ada", target: "clerk", parentActionId: null });
const read = record({});
const post = record({ actionId: "a3", target: "post", privileged: true });
const observed = record({ actionId: "a4", decision: "deny", enforced: false, target: "unknown" });
const denied = record({ actionId: "a5", decision: "deny", target: "unknown" });

const bearer = { jti: "t2", actionId: "a2", sessionId: "s", target: "read", dataClass: "finance" };
const readCall = { callId: "c2", target: "read", bearer, transactionOf: null };
const postCall = {
  callId: "c3",
  target: "post",
  bearer: { ...bearer, jti: "t3", actionId: "a3", target: "post" },
  transactionOf: "a3",
};
const observedCall = { callId: "c4", target: null, bearer: null, transactionOf: null };

/** A run without any violation. */
const good: Evidence = {
  decisions: [delegation, read, post, observed, denied],
  spends: [
    { jtiHash: "h1", actionId: "a1" },
    { jtiHash: "h2", actionId: "a2" },
    { jtiHash: "h3", actionId: "a3" },
    { jtiHash: "h4", actionId: null },
    { jtiHash: "h5", actionId: null },
  ],
  mints: ["a3"],
  replaysGranted: [],
  arrivals: [readCall, postCall, observedCall],
  replies: [
    { callId: "c2", status: 200, blocked: null },
    { callId: "c3", status: null, blocked: null },
    { callId: "c4", status: 200, blocked: null },
    { callId: "c5", status: 403, blocked: "policy" },
  ],
};

test("a run without faults has no violation", () => {
  expect(findViolations(good)).toEqual([]);
});

const without = (actionId: string) => ({ decisions: good.decisions.filter((row) => row.actionId !== actionId) });
const unspent = (actionId: string) => ({ spends: good.spends.filter((row) => row.actionId !== actionId) });
const instead = (...rows: RecordedDecision[]) => ({
  decisions: [...good.decisions.filter(({ actionId }) => !rows.some((row) => row.actionId === actionId)), ...rows],
});
const another = (callId: string, call: Partial<Evidence["arrivals"][number]>) => ({
  arrivals: [...good.arrivals, { ...readCall, callId, ...call }],
});

const planted: readonly [kind: ViolationKind, what: string, changes: Partial<Evidence>, of: string][] = [
  ["call_without_record", "its allow is missing", without("a2"), "c2"],
  ["call_under_deny", "its record is a deny", instead({ ...read, decision: "deny" }), "c2"],
  ["call_of_another_allow", "its record is another target's", instead({ ...read, target: "browse" }), "c2"],
  ["call_of_another_allow", "its record is another session's", instead({ ...read, sessionId: "s2" }), "c2"],
  ["call_of_another_allow", "its record is of other data", instead({ ...read, dataClass: "web" }), "c2"],
  [
    "call_of_another_allow",
    "its token is for another route",
    { arrivals: [{ ...readCall, target: "browse" }, postCall, observedCall] },
    "c2",
  ],
  ["call_without_spend", "its allow was not spent", unspent("a2"), "c2"],
  ["call_without_token", "it has no token", another("c9", { bearer: null }), "c9"],
  ["token_used_twice", "its token was used before", another("c9", { bearer: { ...bearer, actionId: "a9" } }), "t2"],
  ["token_used_twice", "its allow was used before", another("c9", { bearer: { ...bearer, jti: "t9" } }), "a2"],
  ["spent_twice", "an allow", { spends: [...good.spends, { jtiHash: "h9", actionId: "a2" }] }, "a2"],
  ["spent_twice", "a token", { spends: [...good.spends, { jtiHash: "h4", actionId: null }] }, "h4"],
  ["replay_granted", "it was granted a token", { replaysGranted: ["s"] }, "s"],
  [
    "privileged_without_transaction",
    "it had none",
    { arrivals: [readCall, { ...postCall, transactionOf: null }, observedCall] },
    "c3",
  ],
  [
    "privileged_without_transaction",
    "it had one of another action",
    { arrivals: [readCall, { ...postCall, transactionOf: "a2" }, observedCall] },
    "c3",
  ],
  ["privileged_without_transaction", "it was never minted", { mints: [] }, "c3"],
  ["blocked_yet_made", "it arrived", { replies: [{ callId: "c2", status: 503, blocked: "audit_unavailable" }] }, "c2"],
  ["answered_yet_not_made", "it never arrived", { replies: [{ callId: "c9", status: 200, blocked: null }] }, "c9"],
  ["observed_without_record", "it has no record", without("a4"), "c4"],
  ["observed_without_record", "its record claims to be enforced", instead({ ...observed, enforced: true }), "c4"],
  ["chain_incomplete", "the delegation is missing", without("a1"), "c2"],
  ["chain_incomplete", "the delegation was denied", instead({ ...delegation, decision: "deny" }), "c2"],
  ["chain_incomplete", "the delegation was to another", instead({ ...delegation, target: "mallory" }), "c2"],
  ["chain_incomplete", "the delegation was another session's", instead({ ...delegation, sessionId: "s2" }), "c2"],
  ["chain_incomplete", "the delegation was never exchanged", unspent("a1"), "c2"],
  ["chain_incomplete", "it has no parent", instead({ ...read, parentActionId: null }), "c2"],
  ["chain_incomplete", "a hop is missing", instead({ ...read, hop: 3 }), "c2"],
];

test.each(planted)("a planted %s is found: %s", (kind, _what, changes, of) => {
  expect(findViolations({ ...good, ...changes })).toContainEqual({ kind, of });
});

test("every kind of violation is planted", () => {
  expect(new Set(planted.map(([kind]) => kind))).toEqual(new Set(violationKinds));
});
