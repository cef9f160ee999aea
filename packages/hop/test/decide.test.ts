import { describe, expect, test } from "vitest";
import { decide, type StepOptions } from "../src/index.ts";
import { portsOf, refusal, type Scripted, scripted } from "./support/scripted-transport.ts";
import { actionId, sessionId } from "./support/tokens.ts";

const credential = { sessionId, token: "the-token" };
const hopCall = { target: "http:ledger/read_entry", targetKind: "tool", dataClass: "finance.entries" } as const;
const options: StepOptions = { deadlineMs: 1_000 };

const allow = {
  action_id: actionId,
  decision: "allow",
  deny_reason: null,
  recoverable: false,
  enforced: true,
  hop: 2,
  acting_agent: "planner",
  target: hopCall.target,
  target_kind: "tool",
  data_class: hopCall.dataClass,
  privileged: false,
  transaction_required: false,
  taint: "trusted_internal",
  taint_source: null,
  policy_version: 3,
  guarantee_level: "network",
  decided_at: "2026-01-01T00:00:00.000Z",
};
const deny = {
  ...allow,
  decision: "deny",
  deny_reason: "SCOPE_NOT_CONSENTED",
  recoverable: true,
  consentable_scopes: ["travel"],
};

const answering = (answer: Scripted, request = {}) =>
  decide(portsOf(scripted(answer)), credential, { ...hopCall, ...request }, options);

test("an allow is returned with all its facts", async () => {
  expect(await answering({ status: 200, body: allow })).toEqual({
    kind: "decided",
    decision: {
      outcome: "allow",
      actionId,
      enforced: true,
      hop: 2,
      actingAgent: "planner",
      ...hopCall,
      privileged: false,
      transactionRequired: false,
      taint: "trusted_internal",
      taintSource: null,
      policyVersion: 3,
      guaranteeLevel: "network",
      decidedAt: "2026-01-01T00:00:00.000Z",
    },
  });
});

test("a deny is returned with its reason and the scopes whose consent would admit the call", async () => {
  expect(await answering({ status: 200, body: deny })).toMatchObject({
    kind: "decided",
    decision: { outcome: "deny", denyReason: "SCOPE_NOT_CONSENTED", recoverable: true, consentableScopes: ["travel"] },
  });
});

test("the request carries session, target, data class, token and trace context", async () => {
  const transport = scripted({ status: 200, body: { ...allow, enforced: false } });
  const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
  const request = { ...hopCall, taint: "untrusted_external", enforced: false } as const;
  await decide(portsOf(transport), credential, request, { ...options, trace });
  expect(transport.sent).toHaveLength(1);
  expect(transport.sent[0]).toMatchObject({
    method: "POST",
    path: "/v1/authorize",
    headers: { authorization: "Bearer the-token", "content-type": "application/json", ...trace },
  });
  expect(JSON.parse(transport.sent[0]?.body ?? "")).toEqual({
    session_id: sessionId,
    target: hopCall.target,
    target_kind: "tool",
    data_class: hopCall.dataClass,
    taint: "untrusted_external",
    enforced: false,
  });
});

describe("a response that is not a decision", () => {
  test.each<[string, Scripted, object]>([
    ["401", refusal(401, "unauthorized"), { kind: "unauthorized", response: { status: 401, code: "unauthorized" } }],
    ["503 audit_unavailable", refusal(503, "audit_unavailable"), { kind: "audit_unavailable" }],
    [
      "an allow without action_id",
      { status: 200, body: { ...allow, action_id: undefined } },
      { kind: "audit_unavailable" },
    ],
    [
      "an allow with an empty action_id",
      { status: 200, body: { ...allow, action_id: "" } },
      { kind: "audit_unavailable" },
    ],
    ["a deny without action_id", { status: 200, body: { ...deny, action_id: null } }, { kind: "audit_unavailable" }],
    [
      "503 otherwise",
      refusal(503, "database_unavailable"),
      { fault: "status", response: { code: "database_unavailable" } },
    ],
    ["400", refusal(400, "invalid_request"), { fault: "status", response: { status: 400 } }],
    ["500 without a body", { status: 500, body: "" }, { fault: "status", response: { status: 500 } }],
    ["a redirect", { status: 307, body: "" }, { fault: "status" }],
    ["201 with a decision", { status: 201, body: allow }, { fault: "status" }],
    ["200 with HTML", { status: 200, body: "<html>sign in</html>" }, { fault: "malformed" }],
    ["truncated JSON", { status: 200, body: JSON.stringify(allow).slice(0, -3) }, { fault: "malformed" }],
    [
      "an allow with a reason",
      { status: 200, body: { ...allow, deny_reason: "TAINT_BLOCKED" } },
      { fault: "malformed" },
    ],
    ["a deny without a reason", { status: 200, body: { ...deny, deny_reason: null } }, { fault: "malformed" }],
    ["an unknown deny reason", { status: 200, body: { ...deny, deny_reason: "WHIM" } }, { fault: "malformed" }],
    ["another target", { status: 200, body: { ...allow, target: "http:ledger/other" } }, { fault: "mismatch" }],
    ["another target kind", { status: 200, body: { ...allow, target_kind: "agent" } }, { fault: "mismatch" }],
    ["another data class", { status: 200, body: { ...allow, data_class: "finance" } }, { fault: "mismatch" }],
    ["another enforced", { status: 200, body: { ...allow, enforced: false } }, { fault: "mismatch" }],
    ["another session", { status: 200, body: { ...allow, session_id: "other" } }, { fault: "mismatch" }],
    ["a timeout", "timeout", { fault: "timeout" }],
    ["a reset", "unreachable", { fault: "unreachable" }],
    ["an endless body", "too_large", { fault: "too_large" }],
  ])("%s", async (_name, answer, want) => {
    expect(await answering(answer)).toMatchObject({ kind: "unusable", ...want });
  });
});

describe("a decision is requested a second time", () => {
  test("after a refused connect, with the time left of the deadline", async () => {
    const transport = scripted("refused", { status: 200, body: allow });
    let now = 0;
    const ports = portsOf(transport, { monotonicMs: () => (now += 100) });
    expect((await decide(ports, credential, hopCall, options)).kind).toBe("decided");
    expect(transport.sent.map((request) => request.deadlineMs)).toEqual([1_000, 900]);
  });

  test.each<Scripted>(["unreachable", "timeout", "aborted", refusal(503, "audit_unavailable")])(
    "never after %o",
    async (answer) => {
      const transport = scripted(answer, { status: 200, body: allow });
      expect((await decide(portsOf(transport), credential, hopCall, options)).kind).not.toBe("decided");
      expect(transport.sent).toHaveLength(1);
    },
  );

  test("but not a third time, not after the deadline and not after an abort", async () => {
    const twice = scripted("refused");
    expect(await decide(portsOf(twice), credential, hopCall, options)).toMatchObject({ fault: "refused" });
    expect(twice.sent).toHaveLength(2);
    const late = scripted("refused");
    let now = 0;
    await decide(portsOf(late, { monotonicMs: () => (now += 1_000) }), credential, hopCall, options);
    expect(late.sent).toHaveLength(1);
    const left = scripted("refused");
    await decide(portsOf(left), credential, hopCall, { ...options, signal: AbortSignal.abort() });
    expect(left.sent).toHaveLength(0);
  });
});

test("the duration of a step is reported once, also where it fails", async () => {
  const stages: unknown[] = [];
  let now = 0;
  const ports = portsOf(scripted("timeout"), { monotonicMs: () => (now += 5) });
  await decide(ports, credential, hopCall, { ...options, onStage: (...stage) => stages.push(stage) });
  expect(stages).toEqual([["decide", 10]]);
});

test("an error that is no transport fault is thrown", async () => {
  const transport = { send: () => Promise.reject(new RangeError("bug")) };
  await expect(decide(portsOf(transport), credential, hopCall, options)).rejects.toThrow(RangeError);
});
