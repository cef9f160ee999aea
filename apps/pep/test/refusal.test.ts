import { type Decision, type HopFailure, poolFaults, type RecordedDeny, unusableFaults } from "@svc/hop";
import { describe, expect, test } from "vitest";
import { type Refusal, refusalOf } from "../src/decide/admit.ts";

const decision: Extract<Decision, { outcome: "allow" }> = {
  outcome: "allow",
  actionId: "a",
  enforced: true,
  hop: 1,
  actingAgent: "ada",
  target: "http:ledger/read",
  targetKind: "tool",
  dataClass: "finance",
  privileged: false,
  transactionRequired: false,
  taint: "trusted_internal",
  taintSource: null,
  policyVersion: 1,
  guaranteeLevel: "full",
  decidedAt: "2026-01-01T00:00:00.000Z",
};
const deny: RecordedDeny = {
  ...decision,
  outcome: "deny",
  actionId: "d",
  denyReason: "TAINT_BLOCKED",
  recoverable: false,
  consentableScopes: [],
};
const response = { status: 400 };

describe("the cause of a hop that ended without a token", () => {
  test.each<[name: string, failure: HopFailure, want: Refusal]>([
    ["denied", { kind: "denied", step: "exchange", decision: deny, response }, { cause: "policy", decision: deny }],
    ["unauthorized at the lease", { kind: "unauthorized", step: "lease" }, { cause: "unauthorized" }],
    ["unauthorized at the decision", { kind: "unauthorized", step: "decide", response }, { cause: "unauthorized" }],
    [
      "unauthorized at the exchange",
      { kind: "unauthorized", step: "exchange", decision, response },
      { cause: "unauthorized", decision },
    ],
    ["no record", { kind: "audit_unavailable", step: "decide", response }, { cause: "audit_unavailable" }],
    ...poolFaults.map((fault): [string, HopFailure, Refusal] => [
      `the pool's fault ${fault}`,
      { kind: "unusable", step: "lease", fault },
      { cause: "other", poolFault: fault },
    ]),
    ...unusableFaults
      .filter((fault) => fault !== "aborted")
      .flatMap((fault): [string, HopFailure, Refusal][] => [
        [`${fault} at the lease`, { kind: "unusable", step: "lease", fault }, { cause: "pdp_unreachable" }],
        [`${fault} at the decision`, { kind: "unusable", step: "decide", fault }, { cause: "pdp_unreachable" }],
        [
          `${fault} at the exchange`,
          { kind: "unusable", step: "exchange", decision, fault },
          { cause: "exchange_unreachable", decision },
        ],
        [
          `${fault} at the mint`,
          { kind: "unusable", step: "mint", decision, fault },
          { cause: "mint_unreachable", decision },
        ],
      ]),
  ])("%s", (_name, failure, refusal) => {
    expect(refusalOf(failure)).toEqual(refusal);
  });

  test.each(["lease", "decide", "exchange", "mint"] as const)(
    "an agent that disconnected at the %s has no cause",
    (step) => {
      expect(refusalOf({ kind: "unusable", step, fault: "aborted" })).toBe("gone");
    },
  );
});
