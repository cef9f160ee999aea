import { decodeJwt, decodeProtectedHeader } from "jose";
import { describe, expect, test } from "vitest";
import { whenDecided } from "./src/api.ts";
import { ledgerForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops } from "./src/ledger.ts";

const { api, scope } = await ledgerForTests();
const hops = ledgerHops(scope);

/** The narrowed token of a privileged call, and its action. */
const bound = async () => {
  const { session, clerk } = await clerkSession(api, scope);
  return { session, ...(await api.hop(session, clerk.token, hops.post)) };
};
/** As text, since no JSON writer produces some of these. */
const mintText = (token: string, action: string, params: string) =>
  api.call("POST", "/v1/token/transaction", {
    bearer: token,
    raw: { body: `{"action_id":"${action}","params":${params}}`, headers: { "content-type": "application/json" } },
  });

describe("a transaction token", () => {
  test("is bound to one call and its exact parameters, until the hop token expires", async () => {
    const { session, token, action } = await bound();
    const { status, body } = await api.mint(token, action, { amount: 1, to: "ada" });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        transaction_token: expect.any(String),
        issued_token_type: "urn:ietf:params:oauth:token-type:txn_token",
        token_type: "N_A",
        expires_in: expect.any(Number),
        action_id: action,
      },
    });
    expect(body.expires_in).toBeLessThanOrEqual(60);
    expect(decodeProtectedHeader(body.transaction_token).typ).toBe("txntoken+jwt");
    const hopToken = decodeJwt(token);
    expect(decodeJwt(body.transaction_token)).toMatchObject({
      iss: hopToken.iss,
      sub: "ada",
      aud: hops.post.target,
      scope: hops.post.data_class,
      sid: session,
      txn: action,
      req_wl: hops.clerk.target,
      tctx: { target: hops.post.target, params_hash: expect.stringMatching(/^[\w-]{43}$/) },
      hop_jti_hash: expect.stringMatching(/^[\w-]{43}$/),
      exp: hopToken.exp,
    });
    const [row] = (await api.decisions(`session_id=${session}&privileged=true`)).body.data;
    const { params_hash } = decodeJwt<{ tctx: { params_hash: string } }>(body.transaction_token).tctx;
    expect(row).toMatchObject({ action_id: action, privileged: true, params_hash });
  });

  test.each([
    ['{"amount":1,"to":"ada"}', '{ "to": "ada", "amount": 1.0 }', true],
    ['{"a":0}', '{"a":-0}', true],
    ['{"a":"é"}', '{"a":"\\u00e9"}', true],
    ['{"a":"é"}', '{"a":"e\\u0301"}', false],
    ['{"amount":1}', '{"amount":2}', false],
    ['{"a":1}', '{"a":"1"}', false],
    ['{"a":[1,2]}', '{"a":[2,1]}', false],
    ['{"__proto__":{"x":1}}', '{"constructor":{"x":1}}', false],
    ['{"__proto__":{"x":1}}', "{}", false],
  ])("has the same parameter hash for %s and for %s: %j", async (one, other, same) => {
    const contexts = [];
    for (const params of [one, other]) {
      const { token, action } = await bound();
      contexts.push(decodeJwt((await mintText(token, action, params)).body.transaction_token).tctx);
    }
    if (same) expect(contexts[1]).toEqual(contexts[0]);
    else expect(contexts[1]).not.toEqual(contexts[0]);
  });

  test("is minted once, also with other parameters", async () => {
    const { token, action } = await bound();
    expect((await api.mint(token, action, { amount: 1 })).status).toBe(200);
    for (const amount of [1, 2]) {
      const again = await api.mint(token, action, { amount });
      expect([again.status, again.body.error.code]).toEqual([409, "already_minted"]);
    }
  });

  test("is minted once of 16 at once", async () => {
    const { token, action } = await bound();
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, n) => whenDecided(() => api.mint(token, action, { n }))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(15).fill(409)]);
  });

  test("is not minted for another token's action or an unknown action", async () => {
    const [mine, theirs] = [await bound(), await bound()];
    for (const action of [theirs.action, "01a00000-0000-7000-8000-000000000000"]) {
      const foreign = await api.mint(mine.token, action, {});
      expect([foreign.status, foreign.body.error.code]).toEqual([404, "action_not_found"]);
    }
    expect((await api.mint(mine.token, mine.action, {})).status).toBe(200);
  });

  test("is not needed for a target that is not privileged", async () => {
    const { session, clerk } = await clerkSession(api, scope);
    const read = await api.hop(session, clerk.token, hops.read);
    const needless = await api.mint(read.token, read.action, {});
    expect([needless.status, needless.body.error.code]).toEqual([409, "transaction_not_required"]);
  });

  test("is minted for the narrowed token alone, never before the exchange", async () => {
    const { session, clerk } = await clerkSession(api, scope);
    const { action_id } = (await api.authorize(session, clerk.token, hops.post)).body;
    const early = await api.mint(clerk.token, action_id, {});
    expect([early.status, early.body.error.code]).toEqual([404, "action_not_found"]);
  });

  test("is decided again: a denial after the exchange is 403, is recorded, and mints nothing", async () => {
    const { session, token, action } = await bound();
    await api.call("POST", `/v1/sessions/${session}/revoke`, { bearer: api.tokens.admin });
    const refused = await api.mint(token, action, {});
    expect([refused.status, refused.body]).toEqual([
      403,
      {
        error: { code: "mint_refused", message: expect.any(String) },
        details: { deny_reason: "SESSION_REVOKED", action_id: expect.any(String) },
      },
    ]);
    const { data } = (await api.decisions(`session_id=${session}&outcome=deny`)).body;
    expect(data).toMatchObject([{ stage: "mint", deny_reason: "SESSION_REVOKED", target: hops.post.target }]);
  });

  test("is not minted after taint reached the caller", async () => {
    const { session, clerk } = await clerkSession(api, scope);
    const [posting, browsing] = (await api.renew(clerk.token, 2)).body.tokens;
    const post = await api.hop(session, posting, hops.post);
    expect((await api.authorize(session, browsing, hops.browse)).body.decision).toBe("allow");
    const refused = await api.mint(post.token, post.action, {});
    expect([refused.status, refused.body.details.deny_reason]).toEqual([403, "TAINT_BLOCKED"]);
  });

  test.each([
    ["a list", "[1]", 400, "invalid_request"],
    ["text", '"x"', 400, "invalid_request"],
    ["null", "null", 400, "invalid_request"],
    ["a repeated member", '{"a":1,"a":2}', 422, "params_unbindable"],
    ["a repeated member deep inside", '{"a":[{"b":1,"b":1}]}', 422, "params_unbindable"],
    ["a number beyond a double", '{"a":1e400}', 422, "params_unbindable"],
    ["an integer that a double changes", '{"a":9007199254740993}', 422, "params_unbindable"],
    ["a lone surrogate", '{"a":"\\ud800"}', 422, "params_unbindable"],
    ["nesting of 65", `{"a":${"[".repeat(64)}${"]".repeat(64)}}`, 422, "params_unbindable"],
    ["nesting of 200,000", `{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`, 422, "params_unbindable"],
  ])("is not minted for %s, and nothing is spent", async (_case, params, status, code) => {
    const { token, action } = await bound();
    const answer = await mintText(token, action, params);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    expect((await api.mint(token, action, { a: 1 })).status).toBe(200);
  });
});
