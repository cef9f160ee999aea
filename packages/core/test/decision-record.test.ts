import { expect, test } from "vitest";
import type { Verdict, VerdictFacts } from "../src/decide.ts";
import { recordVersion, toDecisionRecord } from "../src/decision-record.ts";
import { denyReasons, isRecoverable } from "../src/deny-reason.ts";
import type { HopRequest } from "../src/hop.ts";

const hop: HopRequest = {
  hop: 2,
  chain: ["planner"],
  target: "http:ledger/read",
  targetKind: "tool",
  dataClass: "finance",
  narrowedTo: ["finance"],
  tokenTaint: "trusted_internal",
  declaredTaint: "untrusted_external",
};
const facts: VerdictFacts = {
  taint: "untrusted_external",
  source: "declared",
  privileged: true,
  guaranteeLevel: "full",
  tool: undefined,
};
const context = {
  actionId: "action-2",
  sessionId: "session-1",
  stage: "authorize",
  actingAgent: "planner",
  enforced: false,
  policyVersion: 3,
  parentActionId: "action-1",
  decidedAtMs: 1_000,
  present: { required: true },
} as const;

test("a record holds the request, the decision and its facts, and nothing of the token", () => {
  expect(toDecisionRecord(hop, { outcome: "allow", facts }, context)).toEqual({
    ...context,
    recordVersion: 2,
    hop: 2,
    chain: ["planner"],
    target: "http:ledger/read",
    targetKind: "tool",
    dataClass: "finance",
    decision: "allow",
    denyReason: null,
    recoverable: false,
    privileged: true,
    taint: "untrusted_external",
    taintSource: "declared",
    guaranteeLevel: "full",
  });
  expect(recordVersion).toBe(2);
});

test.each(denyReasons)(
  "a deny for %s has its reason, and is recoverable exactly where consent could help",
  (reason) => {
    const verdict: Verdict = { outcome: "deny", reason, facts, consentableScopes: [] };
    expect(toDecisionRecord(hop, verdict, context)).toMatchObject({
      decision: "deny",
      denyReason: reason,
      recoverable: reason === "SCOPE_NOT_CONSENTED",
      enforced: false,
    });
    expect(isRecoverable(reason)).toBe(reason === "SCOPE_NOT_CONSENTED");
  },
);
