import {
  type HopClaims,
  isNarrowed,
  issueTransactionToken,
  siblingClaims,
  type TransactionClaims,
  transactionClaims,
} from "@svc/tokens";
import { describe, expect, test } from "vitest";
import { mint, renew, renewalSource } from "../src/index.ts";
import { portsOf, refusal, type Scripted, scripted } from "./support/scripted-transport.ts";
import { actionId, freshJti, issuerKey, narrowed, rootClaims, sessionId, signed } from "./support/tokens.ts";

const options = { deadlineMs: 1_000 };
const nowSeconds = Date.now() / 1000;
const target = "http:ledger/post_entry";
const agent = narrowed(rootClaims(), "planner");
const tool = narrowed(agent, target, { targetKind: "tool", dataClass: "finance.entries", privileged: true });

const presented = { sessionId, token: await signed(agent) };

describe("mint", () => {
  const credential = { sessionId, token: "narrowed" };
  const mintCall = { actionId, target, paramsJson: '{"amount": 2.0, "to":"7"}' };
  if (!isNarrowed(tool)) throw new Error("not narrowed");
  const right = transactionClaims(tool, "hash", { jti: freshJti(), nowSeconds });
  const body = async (claims: TransactionClaims) => ({
    transaction_token: await issueTransactionToken(issuerKey, claims),
    issued_token_type: "urn:ietf:params:oauth:token-type:txn_token",
    token_type: "N_A",
    expires_in: 60,
    action_id: actionId,
  });
  const minting = (answer: Scripted) => mint(portsOf(scripted(answer)), credential, mintCall, options);

  test("the transaction token is returned", async () => {
    const answer = await body(right);
    expect(await minting({ status: 200, body: answer })).toEqual({
      kind: "minted",
      transactionToken: answer.transaction_token,
      expiresInSeconds: 60,
    });
  });

  test("the parameters are sent as they are spelled", async () => {
    const transport = scripted("timeout");
    await mint(portsOf(transport, { prover: { prove: () => "proof" } }), credential, mintCall, options);
    expect(transport.sent[0]?.headers).toMatchObject({ authorization: "Bearer narrowed" });
    expect(transport.sent[0]?.body).toBe(
      `{"action_id":"${actionId}","params":{"amount": 2.0, "to":"7"},"actor_token":"proof"}`,
    );
  });

  test.each(["[1]", '"text"', "null", "", '{"a":1}{', '{"a":1},"actor_token":"mine"', '{"a":1'])(
    "%s is no one object, and nothing is sent",
    async (paramsJson) => {
      const transport = scripted("timeout");
      await expect(mint(portsOf(transport), credential, { ...mintCall, paramsJson }, options)).rejects.toThrow(
        TypeError,
      );
      expect(transport.sent).toEqual([]);
    },
  );

  test.each<[string, Partial<TransactionClaims>]>([
    ["target", { target: "http:ledger/other" }],
    ["audience", { aud: "http:ledger/other" }],
    ["action", { actionId: "other" }],
    ["session", { sessionId: "other" }],
  ])("a token for another %s is unusable", async (_name, claims) => {
    expect(await minting({ status: 200, body: await body({ ...right, ...claims }) })).toMatchObject({
      fault: "mismatch",
    });
  });

  test.each<[string, Scripted, object]>([
    [
      "403 mint_refused",
      refusal(403, "mint_refused", { deny_reason: "TAINT_BLOCKED" }),
      { kind: "denied", denyReason: "TAINT_BLOCKED" },
    ],
    ["403 without a reason", refusal(403, "mint_refused"), { kind: "denied", denyReason: null }],
    ["another 403", { status: 403, body: "<html>" }, { kind: "unusable", fault: "status" }],
    ["409 already_minted", refusal(409, "already_minted"), { kind: "unusable", response: { code: "already_minted" } }],
    [
      "422 params_unbindable",
      refusal(422, "params_unbindable"),
      { kind: "unusable", response: { code: "params_unbindable" } },
    ],
    ["401", refusal(401, "unauthorized"), { kind: "unauthorized", response: { status: 401 } }],
    ["HTML", { status: 200, body: "<html>" }, { kind: "unusable", fault: "malformed" }],
    ["a lost response", "unreachable", { kind: "unusable", fault: "unreachable" }],
  ])("%s", async (_name, answer, want) => {
    expect(await minting(answer)).toMatchObject(want);
  });
});

describe("renew", () => {
  const sibling = (over: Partial<HopClaims> = {}) =>
    signed({
      ...siblingClaims(agent, "trusted_internal", {
        jti: freshJti(),
        nowSeconds,
        sessionExpiresAtSeconds: nowSeconds + 3600,
      }),
      ...over,
    });
  const renewing = (answer: Scripted, count = 2) => renew(portsOf(scripted(answer)), presented, count, options);
  const answered = (...tokens: string[]): Scripted => ({ status: 200, body: { tokens, expires_in: 60 } });

  test("siblings are returned", async () => {
    const tokens = [await sibling(), await sibling()];
    expect(await renewing(answered(...tokens))).toEqual({ kind: "renewed", tokens, expiresInSeconds: 60 });
  });

  test("the request carries the token, the count and, with a key, an actor token", async () => {
    const transport = scripted("timeout");
    await renew(portsOf(transport, { prover: { prove: () => "proof" } }), presented, 8, options);
    expect(transport.sent[0]).toMatchObject({
      path: "/v1/token/renew",
      headers: { authorization: `Bearer ${presented.token}` },
    });
    expect(JSON.parse(transport.sent[0]?.body ?? "")).toEqual({ count: 8, actor_token: "proof" });
  });

  test.each<[string, Partial<HopClaims>]>([
    ["scope", { scope: "everything" }],
    ["audience", { aud: "auditor" }],
    ["session", { sessionId: "other" }],
    ["subject", { sub: "user-2", act: { sub: "user-2" } }],
    ["jti: the presented one", { jti: agent.jti }],
  ])("a sibling of another %s is unusable", async (_name, claims) => {
    expect(await renewing(answered(await sibling(), await sibling(claims)))).toEqual({
      kind: "unusable",
      fault: "mismatch",
    });
  });

  test("a repeated sibling, or more than the count, is unusable", async () => {
    const one = await sibling();
    expect(await renewing(answered(one, one))).toMatchObject({ fault: "mismatch" });
    expect(await renewing(answered(one, await sibling()), 1)).toMatchObject({ fault: "mismatch" });
  });

  test.each<[string, Scripted, object]>([
    ["401", refusal(401, "unauthorized"), { kind: "unauthorized" }],
    ["409", refusal(409, "token_spent"), { kind: "token_spent" }],
    [
      "403",
      refusal(403, "renewal_refused", { deny_reason: "SESSION_REVOKED" }),
      { kind: "refused", denyReason: "SESSION_REVOKED" },
    ],
    ["503", refusal(503, "guard_unavailable"), { kind: "unusable", response: { code: "guard_unavailable" } }],
    ["no tokens", { status: 200, body: { tokens: [], expires_in: 60 } }, { kind: "unusable", fault: "malformed" }],
    [
      "tokens that live no more",
      { status: 200, body: { tokens: ["x"], expires_in: 0 } },
      { kind: "unusable", fault: "malformed" },
    ],
    ["HTML", { status: 200, body: "<html>" }, { kind: "unusable", fault: "malformed" }],
  ])("%s", async (_name, answer, want) => {
    expect(await renewing(answer)).toMatchObject(want);
  });
});

test.each<[Scripted, boolean]>([
  [{ status: 200, body: "" }, true],
  [{ status: 503, body: "" }, false],
  ["unreachable", false],
])("ready after %o: %s", async (answer, want) => {
  expect(await renewalSource(portsOf(scripted(answer))).ready()).toBe(want);
});
