import type { HopClaims } from "@svc/tokens";
import { issueTransactionToken } from "@svc/tokens";
import { describe, expect, test } from "vitest";
import { exchange } from "../src/index.ts";
import { oauthRefusal, portsOf, type Scripted, scripted } from "./support/scripted-transport.ts";
import { actionId, issuerKey, narrowed, rootClaims, sessionId, signed } from "./support/tokens.ts";

const root = rootClaims();
const planner = narrowed(root, "planner");
const subject = { sessionId, token: await signed(planner) };
const target = "http:ledger/read_entry";
const hopCall = { target, dataClass: "finance.entries", actionId };
const right = narrowed(planner, target, { targetKind: "tool", dataClass: "finance.entries" });
const options = { deadlineMs: 1_000 };

const body = (token: string) => ({
  access_token: token,
  issued_token_type: "urn:ietf:params:oauth:token-type:jwt",
  token_type: "Bearer",
  expires_in: 60,
});
const exchangeWith = (answer: Scripted) => exchange(portsOf(scripted(answer)), subject, hopCall, options);
const granting = async (claims: HopClaims) => exchangeWith({ status: 200, body: body(await signed(claims)) });

test("the narrowed token is returned with its claims", async () => {
  expect(await granting(right)).toMatchObject({
    kind: "exchanged",
    token: { expiresInSeconds: 60, claims: { aud: target, hop: 3, sub: root.sub } },
  });
});

test("the form is that of RFC 8693, without an actor token where there is no key", async () => {
  const transport = scripted("timeout");
  await exchange(portsOf(transport), subject, { ...hopCall, taint: "untrusted_external" }, options);
  expect(transport.sent[0]?.path).toBe("/v1/token/exchange");
  expect(transport.sent[0]?.headers).toMatchObject({ "content-type": "application/x-www-form-urlencoded" });
  expect(transport.sent[0]?.headers).not.toHaveProperty("authorization");
  expect(Object.fromEntries(new URLSearchParams(transport.sent[0]?.body))).toEqual({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: subject.token,
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    resource: target,
    scope: "finance.entries",
    action_id: actionId,
    taint: "untrusted_external",
  });
});

test("with a key, every exchange carries an actor token bound to its subject token", async () => {
  const transport = scripted("timeout");
  const prover = { prove: (token: string) => `proof-of-${token.length}` };
  await exchange(portsOf(transport, { prover }), subject, hopCall, options);
  const form = new URLSearchParams(transport.sent[0]?.body);
  expect(form.get("actor_token")).toBe(`proof-of-${subject.token.length}`);
  expect(form.get("actor_token_type")).toBe("urn:ietf:params:oauth:token-type:jwt");
});

describe("a token that does not match the request is unusable", () => {
  test.each<[string, Partial<HopClaims>]>([
    ["aud", { aud: "http:ledger/other" }],
    ["a broader scope", { scope: "finance" }],
    ["hop", { hop: 4, act: { sub: "other", act: { sub: "planner", act: { sub: root.sub } } } }],
    ["sub", { sub: "user-2", act: { sub: "planner", act: { sub: "user-2" } } }],
    ["session", { sessionId: "other" }],
    ["action_id", { actionId: "other" }],
    ["act", { act: { sub: "mallory", act: { sub: root.sub } } }],
  ])("another %s", async (_name, claims) => {
    expect(await granting({ ...right, ...claims })).toEqual({ kind: "unusable", fault: "mismatch" });
  });

  test("the subject token itself", async () => {
    expect(await granting(planner)).toEqual({ kind: "unusable", fault: "mismatch" });
  });

  test("a token of another kind", async () => {
    const claims = { ...right, caller: "planner", target, paramsHash: "x", hopJtiHash: "x", actionId };
    const transaction = await issueTransactionToken(issuerKey, claims);
    expect(await exchangeWith({ status: 200, body: body(transaction) })).toEqual({
      kind: "unusable",
      fault: "malformed",
    });
  });
});

describe("refusals", () => {
  test.each<[string, Scripted, object]>([
    ["403 invalid_target", oauthRefusal(403, "invalid_target"), { kind: "denied", denyReason: null }],
    [
      "its reason, where it is named",
      oauthRefusal(403, "invalid_target", "denied: AGENT_REVOKED"),
      { kind: "denied", denyReason: "AGENT_REVOKED" },
    ],
    ["400 invalid_grant", oauthRefusal(400, "invalid_grant"), { kind: "unauthorized" }],
    [
      "503 invalid_grant",
      oauthRefusal(503, "invalid_grant"),
      { kind: "unusable", response: { status: 503, code: "invalid_grant" } },
    ],
    ["400 invalid_target", oauthRefusal(400, "invalid_target"), { kind: "unusable" }],
    ["400 invalid_request", oauthRefusal(400, "invalid_request"), { kind: "unauthorized" }],
    ["403 of a proxy", { status: 403, body: "<html>" }, { kind: "unusable", response: { status: 403 } }],
    ["200 with HTML", { status: 200, body: "<html>" }, { kind: "unusable", fault: "malformed" }],
    ["200 with no token", { status: 200, body: body("nonsense") }, { kind: "unusable", fault: "malformed" }],
    ["a redirect", { status: 302, body: "" }, { kind: "unusable", fault: "status" }],
  ])("%s", async (_name, answer, want) => {
    expect(await exchangeWith(answer)).toMatchObject(want);
  });

  test.each<Scripted>(["refused", "unreachable", "timeout", oauthRefusal(503, "invalid_grant")])(
    "an exchange is never sent twice, not even after %o",
    async (answer) => {
      const transport = scripted(answer);
      await exchange(portsOf(transport), subject, hopCall, options);
      expect(transport.sent).toHaveLength(1);
    },
  );
});
