import { waitUntil } from "@svc/test-support";
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import { whenDecided } from "./src/api.ts";
import { ledgerForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops } from "./src/ledger.ts";

const { api, scope } = await ledgerForTests();
const hops = ledgerHops(scope);

describe("a renewal", () => {
  test("spends the token and returns siblings, each for one use", async () => {
    const { session, clerk } = await clerkSession(api, scope);
    const { jti, iat, exp, renewed, ...kept } = decodeJwt(clerk.token);
    const { status, body } = await api.renew(clerk.token, 3);
    expect([status, body.tokens.length]).toEqual([200, 3]);
    expect(body.expires_in).toBeLessThanOrEqual(60);
    for (const token of body.tokens) {
      expect(decodeJwt(token)).toMatchObject({ ...kept, hop: 3, renewed: true });
      expect((await api.authorize(session, token, hops.read)).body.decision).toBe("allow");
    }
    const ids = body.tokens.map((token: string) => decodeJwt(token).jti);
    expect(new Set([...ids, jti]).size).toBe(4);
  });

  test("of a root grant lives as long as the session, of an agent's token 60 seconds, neither beyond the session", async () => {
    const { session, token, body } = await api.consent(scope, { ttl_seconds: 60 });
    const end = Math.floor(Date.parse(body.expires_at) / 1000);
    await waitUntil("less than 60 seconds to be left", () => Date.now() / 1000 > end - 59);
    const [root, spare] = (await api.renew(token, 2)).body.tokens;
    expect(decodeJwt(root).exp).toBe(end);
    const planner = await api.hop(session, spare, hops.planner);
    const [sibling] = (await api.renew(planner.token, 1)).body.tokens;
    for (const held of [planner.token, sibling]) expect(decodeJwt(held).exp).toBe(end);
    const longer = await api.consent(scope, { ttl_seconds: 600 });
    const long = await api.hop(longer.session, longer.token, hops.planner);
    const claims = decodeJwt((await api.renew(long.token, 1)).body.tokens[0]);
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(60);
  });

  test("carries the taint that has reached the caller since", async () => {
    const { session, clerk } = await clerkSession(api, scope);
    const [one, other] = (await api.renew(clerk.token, 2)).body.tokens;
    await api.authorize(session, one, hops.browse);
    const [sibling] = (await api.renew(other, 1)).body.tokens;
    expect(decodeJwt(sibling).taint).toBe("untrusted_external");
  });

  test("succeeds once of 16 at once for one token", async () => {
    const { clerk } = await clerkSession(api, scope);
    const answers = await Promise.all(Array.from({ length: 16 }, () => whenDecided(() => api.renew(clerk.token, 1))));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(15).fill(409)]);
  });

  test("is refused to a caller whom the present state denies, and spends nothing", async () => {
    const { clerk } = await clerkSession(api, scope);
    const block = `/v1/blocks/agent/${hops.clerk.target}`;
    await api.call("PUT", block, { bearer: api.tokens.admin, body: { reason: "a test" } });
    const refused = await whenDecided(() => api.renew(clerk.token, 1));
    await api.call("DELETE", block, { bearer: api.tokens.admin });
    expect([refused.status, refused.body]).toMatchObject([
      403,
      { error: { code: "renewal_refused" }, details: { deny_reason: "TARGET_BLOCKED" } },
    ]);
    expect((await whenDecided(() => api.renew(clerk.token, 1))).status).toBe(200);
  });

  test.each([0, 9, 1.5, "1"])("of %j tokens is malformed", async (count) => {
    const { token } = await api.consent(scope);
    const answer = await api.call("POST", "/v1/token/renew", { bearer: token, body: { count } });
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
  });
});

describe("a token that was spent", () => {
  test.each<[string, (token: string) => Promise<unknown>]>([
    ["by a renewal", (token) => api.renew(token, 1)],
    [
      "by an exchange",
      async (token) => {
        const session = String(decodeJwt(token).sid);
        await api.hop(session, token, hops.read);
      },
    ],
  ])("%s is refused for renewal and exchange", async (_how, spend) => {
    const { session, clerk } = await clerkSession(api, scope);
    await spend(clerk.token);
    const renewed = await api.renew(clerk.token, 1);
    expect([renewed.status, renewed.body.error.code]).toEqual([409, "token_spent"]);
    const { action_id } = (await api.authorize(session, clerk.token, hops.read)).body;
    const exchanged = await whenDecided(() => api.exchange(clerk.token, hops.read, action_id));
    expect([exchanged.status, exchanged.body.error]).toEqual([400, "invalid_grant"]);
  });

  test("leaves no taint mark", async () => {
    const { session, planner, clerk } = await clerkSession(api, scope);
    await api.authorize(session, planner.token, hops.clerk, { taint: "untrusted_external" });
    expect((await api.authorize(session, clerk.token, hops.read)).body.taint).toBe("trusted_internal");
  });
});

test("a tool's token is accepted by the mint alone; every other route refuses it and records nothing", async () => {
  const { session, clerk } = await clerkSession(api, scope);
  const tool = await api.hop(session, clerk.token, hops.read);
  const rows = async () => (await api.decisions(`session_id=${session}`)).body.data.length;
  const before = await rows();
  const answers = [
    await api.authorize(session, tool.token, hops.read),
    await api.renew(tool.token, 1),
    await api.exchange(tool.token, hops.read, tool.action),
  ];
  expect(answers.map(({ status, body }) => [status, body.error.code ?? body.error])).toEqual([
    [401, "unauthorized"],
    [401, "unauthorized"],
    [400, "invalid_request"],
  ]);
  expect(await rows()).toBe(before);
});
