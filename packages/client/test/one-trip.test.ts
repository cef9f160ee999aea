import type { HopClaims } from "@svc/tokens";
import { describe, expect, test } from "vitest";
import { decideAndExchange, type OneTripResult, servesOneTrip, type Transport } from "../src/steps/index.ts";
import { allowOf, denyOf, grantOf } from "./support/decisions.ts";
import { oauthRefusal, portsOf, refusal, type Scripted, scripted } from "./support/scripted-transport.ts";
import { narrowed, rootClaims, sessionId, signed } from "./support/tokens.ts";

const root = rootClaims();
const planner = narrowed(root, "planner");
const subject = { sessionId, token: await signed(planner) };
const asked = { target: "http:ledger/read_entry", targetKind: "tool", dataClass: "finance.entries" } as const;
const options = { deadlineMs: 1_000 };
const right = narrowed(planner, asked.target, { targetKind: "tool", dataClass: asked.dataClass });

const [allow, deny] = [allowOf(asked), denyOf(asked)];
const granted = { status: 200, body: grantOf(await signed(right)) };
const both = (decision: object, exchange: object | null, exchangeMs: number | null = exchange && 3): Scripted => ({
  status: 200,
  body: { decision, exchange, stage_ms: { decide: 2, exchange: exchangeMs } },
});
const bodyOf = (answer: Scripted) => (typeof answer === "string" ? {} : answer.body);

const answering = (answer: Scripted) => decideAndExchange(portsOf(scripted(answer)), subject, asked, options);

/** `allow`, `deny` or why not; what its exchange came to; and whether the token may be used again. */
function told(result: OneTripResult) {
  if (result.kind === "unserved") return ["unserved"];
  const { decided, exchanged, isUnspent } = result;
  const name = (part: { kind: string; fault?: string }) => part.fault ?? part.kind;
  return [
    decided.kind === "decided" ? decided.decision.outcome : name(decided),
    exchanged ? name(exchanged) : "no exchange",
    isUnspent ? "unspent" : "maybe spent",
  ];
}

test("a trip asks what authorize is asked, with a proof for its exchange where a key is held", async () => {
  const transport = scripted(both(allow, granted));
  const prover = { prove: (token: string) => `proof-of-${token.length}` };
  await decideAndExchange(portsOf(transport, { prover }), subject, { ...asked, enforced: false }, options);
  expect(transport.sent[0]).toMatchObject({
    ...{ method: "POST", path: "/v1/hop", deadlineMs: 1_000 },
    headers: { authorization: `Bearer ${subject.token}`, "content-type": "application/json" },
  });
  expect(JSON.parse(transport.sent[0]?.body ?? "")).toEqual({
    ...{ session_id: sessionId, target: asked.target, target_kind: "tool", data_class: asked.dataClass },
    ...{ enforced: false, actor_token: `proof-of-${subject.token.length}` },
  });
});

test("decision and token come back as from decide and exchange", async () => {
  expect(await answering(both(allow, granted))).toMatchObject({
    decided: { decision: { outcome: "allow", target: asked.target } },
    exchanged: { token: { expiresInSeconds: 60, claims: { aud: asked.target, hop: 3 } } },
  });
});

describe("what is answered is held to what each step holds its own answer to", () => {
  test.each<[string, Scripted, string[]]>([
    ["an allow with its token", both(allow, granted), ["allow", "exchanged", "maybe spent"]],
    ["an allow alone", both(allow, null), ["allow", "no exchange", "unspent"]],
    ["a deny", both(deny, null), ["deny", "no exchange", "unspent"]],
    ["a deny with a token", both(deny, granted), ["mismatch", "no exchange", "maybe spent"]],
    [
      "a privileged allow with a token",
      both({ ...allow, privileged: true, transaction_required: true }, granted),
      ["mismatch", "no exchange", "maybe spent"],
    ],
    ["of another call", both({ ...allow, target: "x" }, granted), ["mismatch", "no exchange", "maybe spent"]],
    [
      "without a record",
      both({ ...allow, action_id: "" }, granted),
      ["audit_unavailable", "no exchange", "maybe spent"],
    ],
    ["of no shape", both({}, granted), ["malformed", "no exchange", "maybe spent"]],
    [
      "a spent token",
      both(allow, { status: 400, body: bodyOf(oauthRefusal(400, "invalid_grant")) }),
      ["allow", "unauthorized", "maybe spent"],
    ],
    [
      "an allow that no longer holds",
      both(allow, { status: 403, body: bodyOf(oauthRefusal(403, "invalid_target")) }),
      ["allow", "denied", "maybe spent"],
    ],
    [
      "no guard",
      both(allow, { status: 503, body: bodyOf(oauthRefusal(503, "invalid_grant")) }),
      ["allow", "status", "maybe spent"],
    ],
    ["a token of no shape", both(allow, { status: 200, body: {} }), ["allow", "malformed", "maybe spent"]],
    ["401", refusal(401, "unauthorized"), ["unauthorized", "no exchange", "maybe spent"]],
    ["400", refusal(400, "invalid_request"), ["status", "no exchange", "unspent"]],
    ["429", refusal(429, "rate_limited"), ["status", "no exchange", "unspent"]],
    ["503 without a record", refusal(503, "audit_unavailable"), ["audit_unavailable", "no exchange", "unspent"]],
    ["503 of whoever stands between", { status: 503, body: "busy" }, ["status", "no exchange", "maybe spent"]],
    ["502", { status: 502, body: "" }, ["status", "no exchange", "maybe spent"]],
    ["HTML", { status: 200, body: "<html>" }, ["malformed", "no exchange", "maybe spent"]],
    [
      "a decision where a trip was asked for",
      { status: 200, body: allow },
      ["malformed", "no exchange", "maybe spent"],
    ],
    ["404", refusal(404, "route_not_found"), ["unserved"]],
    ["a lost answer", "unreachable", ["unreachable", "no exchange", "maybe spent"]],
    ["a late answer", "timeout", ["timeout", "no exchange", "maybe spent"]],
    ["an agent that went away", "aborted", ["aborted", "no exchange", "maybe spent"]],
    ["an answer too long", "too_large", ["too_large", "no exchange", "maybe spent"]],
    ["a refused connect", "refused", ["refused", "no exchange", "unspent"]],
  ])("%s", async (_name, answer, want) => {
    expect(told(await answering(answer))).toEqual(want);
  });

  test.each<[string, Partial<HopClaims>]>([
    ["aud", { aud: "http:ledger/other" }],
    ["scope", { scope: "finance" }],
    ["hop", { hop: 4, act: { sub: "other", act: { sub: "planner", act: { sub: root.sub } } } }],
    ["sub", { sub: "user-2", act: { sub: "planner", act: { sub: "user-2" } } }],
    ["session", { sessionId: "other" }],
    ["action_id", { actionId: "other" }],
    ["act", { act: { sub: "mallory", act: { sub: root.sub } } }],
  ])("a token with another %s", async (_name, claims) => {
    const body = grantOf(await signed({ ...right, ...claims }));
    expect(told(await answering(both(allow, { status: 200, body })))).toEqual(["allow", "mismatch", "maybe spent"]);
  });
});

test.each<[Scripted, number]>([
  ["refused", 2],
  ["unreachable", 1],
  ["timeout", 1],
  [refusal(503, "audit_unavailable"), 1],
  [{ status: 502, body: "" }, 1],
])("after %o it is sent %i times in all: only what never left is sent again", async (answer, times) => {
  const transport = scripted(answer);
  await decideAndExchange(portsOf(transport), subject, asked, options);
  expect(transport.sent).toHaveLength(times);
});

test.each<[string, Scripted, object]>([
  ["the exchange its own, the rest the decision", both(allow, granted, 3), { decide: 7, exchange: 3 }],
  ["no more than there was", both(allow, granted, 99), { decide: 0, exchange: 10 }],
  ["a decision alone all of it", both(allow, null), { decide: 10 }],
  ["a lost answer all of it", "unreachable", { decide: 10 }],
  ["a trip that is not served none, for nothing was decided", refusal(404, "route_not_found"), {}],
])("of the trip's time each stage is told its part: %s", async (_name, answer, want) => {
  let nowMs = 0;
  const transport = scripted(answer);
  const slow: Transport = {
    send(request) {
      nowMs = 10;
      return transport.send(request);
    },
  };
  const stages: Record<string, number> = {};
  const onStage = (stage: string, ms: number) => {
    stages[stage] = ms;
  };
  const ports = portsOf(slow, { monotonicMs: () => nowMs });
  await decideAndExchange(ports, subject, asked, { ...options, onStage });
  expect(stages).toEqual(want);
});

test.each<[Scripted, boolean | undefined]>([
  [refusal(401, "unauthorized"), true],
  [refusal(404, "route_not_found"), false],
  [{ status: 502, body: "" }, undefined],
  ["refused", undefined],
])("whether it is served is asked without a credential: %o says %s", async (answer, want) => {
  const transport = scripted(answer);
  expect(await servesOneTrip(portsOf(transport), options)).toBe(want);
  expect(transport.sent[0]?.headers).not.toHaveProperty("authorization");
});
