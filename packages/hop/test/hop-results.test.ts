import { describe, expect, test } from "vitest";
import { poolFaults } from "../src/index.ts";
import {
  allow,
  call,
  deny,
  given,
  granted,
  minted,
  type Script,
  sibling,
  spent,
  success,
  take,
} from "./support/scripted-hop.ts";
import { oauthRefusal, refusal } from "./support/scripted-transport.ts";
import { actionId } from "./support/tokens.ts";

/** Of a deny that the exchange or the mint records. */
const recordedDeny = "0197a000-0000-7000-8000-00000000000d";
const denied = (denyReason: string | null) => ({
  outcome: "deny",
  denyReason,
  recoverable: false,
  target: call.target,
});

describe("every other result of a step, and whether the lease was given back", () => {
  test.each<[name: string, change: Partial<Script>, want: object, givenBack: number]>([
    ["lease: unauthorized", { lease: { kind: "unauthorized" } }, { kind: "unauthorized", step: "lease" }, 0],
    ...poolFaults.map((fault): [string, Partial<Script>, object, number] => [
      `lease: ${fault}`,
      { lease: { kind: "unusable", fault } },
      { kind: "unusable", step: "lease", fault },
      0,
    ]),
    [
      "lease: the renewal's response was lost",
      { lease: { kind: "unusable", fault: "timeout" } },
      { kind: "unusable", step: "lease", fault: "timeout" },
      0,
    ],
    [
      "decide: deny",
      { decide: { status: 200, body: deny } },
      { kind: "denied", step: "decide", decision: { outcome: "deny", denyReason: "TAINT_BLOCKED", actionId } },
      given,
    ],
    ["decide: 401", { decide: refusal(401, "unauthorized") }, { kind: "unauthorized", step: "decide" }, spent],
    [
      "decide: 401 of another server",
      { decide: { status: 401, body: "<html>" } },
      { kind: "unauthorized", step: "decide" },
      given,
    ],
    [
      "decide: no proof that is accepted",
      { decide: refusal(400, "invalid_request", { issues: [{ path: "actor_token", message: "x" }] }) },
      { kind: "unauthorized", step: "decide" },
      given,
    ],
    [
      "decide: no committed record",
      { decide: refusal(503, "audit_unavailable") },
      { kind: "audit_unavailable", step: "decide" },
      given,
    ],
    ...(["refused", "unreachable", "timeout", "aborted", "too_large"] as const).map(
      (fault): [string, Partial<Script>, object, number] => [
        `decide: ${fault}`,
        { decide: fault },
        { kind: "unusable", step: "decide", fault },
        given,
      ],
    ),
    ["decide: 500", { decide: refusal(500, "internal") }, { kind: "unusable", step: "decide", fault: "status" }, given],
    [
      "decide: HTML",
      { decide: { status: 200, body: "<html>" } },
      { kind: "unusable", step: "decide", fault: "malformed" },
      given,
    ],
    [
      "decide: a decision on another target",
      { decide: { status: 200, body: { ...allow, target: "http:ledger/other" } } },
      { kind: "unusable", step: "decide", fault: "mismatch" },
      given,
    ],
    [
      "body: refused",
      { body: { kind: "refused", refusal: "too large" } },
      { kind: "body_refused", refusal: "too large", decision: { actionId } },
      given,
    ],
    [
      "exchange: denied, with its reason and its own record",
      { exchange: oauthRefusal(403, "invalid_target", "AGENT_REVOKED", recordedDeny) },
      { kind: "denied", step: "exchange", decision: { ...denied("AGENT_REVOKED"), actionId: recordedDeny } },
      given,
    ],
    [
      "exchange: denied, without a reason and a record: never the allow's",
      { exchange: oauthRefusal(403, "invalid_target") },
      { kind: "denied", step: "exchange", decision: { ...denied(null), actionId: null } },
      given,
    ],
    [
      "exchange: token or allow spent",
      { exchange: oauthRefusal(400, "invalid_grant") },
      { kind: "unauthorized", step: "exchange", decision: { actionId } },
      spent,
    ],
    [
      "exchange: never sent",
      { exchange: "refused" },
      { kind: "unusable", step: "exchange", fault: "refused", decision: { actionId } },
      given,
    ],
    ...(["unreachable", "timeout", "aborted", "too_large"] as const).map(
      (fault): [string, Partial<Script>, object, number] => [
        `exchange: ${fault}`,
        { exchange: fault },
        { kind: "unusable", step: "exchange", fault, decision: { actionId } },
        spent,
      ],
    ),
    [
      "exchange: 503",
      { exchange: oauthRefusal(503, "invalid_grant") },
      { kind: "unusable", step: "exchange", fault: "status", response: { status: 503 } },
      spent,
    ],
    [
      "exchange: no subject token or proof that is accepted",
      { exchange: oauthRefusal(400, "invalid_request") },
      { kind: "unauthorized", step: "exchange", decision: { actionId } },
      given,
    ],
    [
      "exchange: 400 otherwise",
      { exchange: oauthRefusal(400, "unsupported_grant_type") },
      { kind: "unusable", step: "exchange", fault: "status" },
      spent,
    ],
    [
      "exchange: too many calls",
      { exchange: oauthRefusal(429, "slow_down") },
      { kind: "unusable", step: "exchange", fault: "status", response: { status: 429 } },
      given,
    ],
    [
      "exchange: HTML",
      { exchange: { status: 200, body: "<html>" } },
      { kind: "unusable", step: "exchange", fault: "malformed" },
      spent,
    ],
    [
      "exchange: the leased token itself",
      { exchange: { status: 200, body: { ...granted, access_token: sibling } } },
      { kind: "unusable", step: "exchange", fault: "mismatch" },
      spent,
    ],
    [
      "mint: denied",
      { mint: refusal(403, "mint_refused", { deny_reason: "TAINT_BLOCKED", action_id: recordedDeny }) },
      {
        kind: "denied",
        step: "mint",
        decision: { ...denied("TAINT_BLOCKED"), actionId: recordedDeny, taint: "untrusted_external" },
      },
      spent,
    ],
    ["mint: 401", { mint: refusal(401, "unauthorized") }, { kind: "unauthorized", step: "mint" }, spent],
    [
      "mint: no proof that is accepted",
      { mint: refusal(400, "invalid_request", { issues: [{ path: "actor_token", message: "x" }] }) },
      { kind: "unauthorized", step: "mint", decision: { actionId } },
      spent,
    ],
    [
      "mint: minted before",
      { mint: refusal(409, "already_minted") },
      { kind: "unusable", step: "mint", fault: "status", response: { code: "already_minted" } },
      spent,
    ],
    ...(["refused", "unreachable", "timeout", "aborted", "too_large"] as const).map(
      (fault): [string, Partial<Script>, object, number] => [
        `mint: ${fault}`,
        { mint: fault },
        { kind: "unusable", step: "mint", fault, decision: { actionId } },
        spent,
      ],
    ),
    [
      "mint: a token of another action",
      { mint: { status: 200, body: { ...minted, action_id: "another" } } },
      { kind: "unusable", step: "mint", fault: "mismatch" },
      spent,
    ],
  ])("%s", async (_name, change, want, givenBack) => {
    const taken = await take({ ...success, ...change });
    expect(taken.result).toMatchObject(want);
    expect(taken.givenBack).toBe(givenBack);
    const last = "step" in taken.result ? taken.result.step : "body";
    expect(taken.log.at(-1)).toBe(last);
  });
});
