import { type Decision, type HopFailure, type RecordedDeny, unusableFaults } from "@svc/hop";
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
const about = (path: string) => ({
  status: 400,
  code: "invalid_request",
  details: { issues: [{ path, message: "x" }] },
});
const [unproven, unobserved] = [about("actor_token"), about("enforced")];

describe("the cause of a hop that ended without a token", () => {
  test.each<[name: string, failure: HopFailure, want: Refusal]>([
    ["denied", { kind: "denied", step: "exchange", decision: deny, response }, { cause: "policy", decision: deny }],
    [
      "unauthorized at the lease",
      { kind: "unauthorized", step: "lease" },
      { cause: "unauthorized", reason: "token_refused" },
    ],
    [
      "unauthorized at the decision",
      { kind: "unauthorized", step: "decide", response },
      { cause: "unauthorized", reason: "token_refused" },
    ],
    [
      "a spent allow",
      { kind: "unauthorized", step: "exchange", decision, response: { status: 400, code: "invalid_grant" } },
      { cause: "unauthorized", reason: "spent_elsewhere", decision },
    ],
    ...(["lease", "decide", "mint"] as const).map((step): [string, HopFailure, Refusal] => [
      `no proof that is accepted at the ${step}`,
      { kind: "unauthorized", step, response: unproven },
      { cause: "unauthorized", reason: "proof_refused" },
    ]),
    [
      "no proof that is accepted at the exchange",
      {
        kind: "unauthorized",
        step: "exchange",
        response: { status: 400, code: "invalid_request", message: "actor_token is missing" },
      },
      { cause: "unauthorized", reason: "proof_refused" },
    ],
    [
      "no record",
      { kind: "audit_unavailable", step: "decide", response },
      { cause: "audit_unavailable", reason: "not_recorded" },
    ],
    ...(["lease", "decide", "exchange", "mint"] as const).map((step): [string, HopFailure, Refusal] => [
      `429 at the ${step}`,
      { kind: "unusable", step, fault: "status", response: { status: 429, retryAfter: "59" } },
      { cause: "other", reason: "rate_limited", facts: { when: "after 59 s" }, retryAfter: "59" },
    ]),
    [
      "a scope that may not be observed",
      { kind: "unusable", step: "decide", fault: "status", response: unobserved },
      { cause: "unresolvable_call", reason: "observe_not_admitted" },
    ],
    [
      "parameters that the control plane cannot bind",
      { kind: "unusable", step: "mint", fault: "status", response: { status: 422, code: "params_unbindable" } },
      { cause: "unbindable", reason: "unbindable" },
    ],
    [
      "an action that was minted before",
      { kind: "unusable", step: "mint", fault: "status", response: { status: 409, code: "already_minted" } },
      { cause: "other", reason: "refused", facts: { code: "already_minted" } },
    ],
    [
      "a route that is not there",
      { kind: "unusable", step: "decide", fault: "status", response: { status: 404, code: "route_not_found" } },
      { cause: "pdp_unreachable", reason: "no_decision", facts: { fault: "status" } },
    ],
    [
      "no token for an allowed call",
      { kind: "unusable", step: "lease", fault: "timeout", decision },
      { cause: "exchange_unreachable", reason: "no_token", facts: { fault: "timeout" }, decision },
    ],
    ...(
      [
        ["pool_full", "pool_full"],
        ["state_unavailable", "state_unavailable"],
        ["closed", "stopping"],
      ] as const
    ).map(([fault, reason]): [string, HopFailure, Refusal] => [
      `the pool's fault ${fault}`,
      { kind: "unusable", step: "lease", fault },
      { cause: "other", reason },
    ]),
    ...unusableFaults
      .filter((fault) => fault !== "aborted")
      .flatMap((fault): [string, HopFailure, Refusal][] => [
        [
          `${fault} at the lease`,
          { kind: "unusable", step: "lease", fault },
          { cause: "pdp_unreachable", reason: "no_decision", facts: { fault } },
        ],
        [
          `${fault} at the decision`,
          { kind: "unusable", step: "decide", fault },
          { cause: "pdp_unreachable", reason: "no_decision", facts: { fault } },
        ],
        [
          `${fault} at the exchange`,
          { kind: "unusable", step: "exchange", decision, fault },
          { cause: "exchange_unreachable", reason: "no_token", facts: { fault }, decision },
        ],
        [
          `${fault} at the mint`,
          { kind: "unusable", step: "mint", decision, fault },
          { cause: "mint_unreachable", reason: "no_transaction_token", facts: { fault }, decision },
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
