import { bindParamsValue, decodeUnverifiedHopToken, generatePrivateJwk, importAgentKey } from "@svc/tokens";
import { describe, expect, test } from "vitest";
import { sessionId } from "../../hop/test/support/tokens.ts";
import { ControlPlaneRejected, PolicyDenied, TransactionParamsRequired } from "../src/index.ts";
import { consent, errorOf, fakeClient, fakeSession, planner, post, read } from "./support/fake-client.ts";
import { bearerOf, json, refused } from "./support/fake-plane.ts";

const payloadOf = (token = "") => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
const afterConsent = (asked: readonly string[]) => asked.filter((path) => path !== "/v1/consent");

test("a consent starts a session whose context is hop 1", async () => {
  const { svc, plane } = fakeClient();
  const session = await svc.consent({ ...consent, ttlSeconds: 60, policyVersion: 3 });
  expect(plane.bodyOf("/v1/consent")).toEqual({
    scope: "expenses",
    user_sub: "user-1",
    ttl_seconds: 60,
    policy_version: 3,
  });
  expect(session).toMatchObject({
    sessionId,
    policyVersion: 3,
    scope: "expenses",
    userSub: "user-1",
    hopBudget: 4,
    expiresAt: "2026-01-01T01:00:00.000Z",
  });
  expect(session.context()).toMatchObject({ sessionId, token: session.rootGrant, hop: 1, caller: "user-1" });
});

describe("a grant", () => {
  test("matches the request and the claims of its token", async () => {
    const { svc, session } = await fakeSession();
    const grant = await svc.authorize(session.context(), read);
    const claims = decodeUnverifiedHopToken(grant.accessToken);
    expect(claims).toMatchObject({ aud: read.target, scope: read.dataClass, hop: 2, sub: "user-1" });
    expect(grant).toMatchObject({
      scope: read.dataClass,
      expiresIn: 60,
      hop: claims?.hop,
      target: read.target,
      taint: "trusted_internal",
      actionId: claims?.actionId,
    });
    expect(Object.keys(grant)).not.toContain("transactionToken");
    expect(grant.headers()).toEqual({ Authorization: `Bearer ${grant.accessToken}`, "X-Svc-Session": sessionId });
  });

  test("for a privileged target has a transaction token bound to the params", async () => {
    const { svc, plane, session } = await fakeSession();
    const params = { amount: 5, to: "é" };
    const grant = await svc.authorize(session.context(), { ...post, params });
    expect(plane.bodyOf("/v1/token/transaction")).toEqual({ action_id: grant.actionId, params });
    expect(payloadOf(grant.transactionToken)).toMatchObject({
      txn: grant.actionId,
      tctx: { target: post.target, params_hash: (bindParamsValue(params) as { paramsHash: string }).paramsHash },
    });
    expect(grant.headers()).toMatchObject({ "Txn-Token": grant.transactionToken });
  });

  test("of a client with an agent key has an identity assertion for its target", async () => {
    const { svc, session } = await fakeSession({ identityKey: await generatePrivateJwk(), agentName: "planner" });
    const grant = await svc.authorize(session.context(), read);
    expect(payloadOf(grant.identityAssertion)).toMatchObject({ iss: "planner", aud: read.target });
    expect(grant.headers()).toMatchObject({ "Agent-Identity": grant.identityAssertion });
  });
});

test("a hop is decided first and then exchanged with the decision's action", async () => {
  const { svc, plane, session } = await fakeSession();
  const grant = await svc.authorize(session.context(), read);
  const asked = afterConsent(plane.asked);
  const steps = ["/v1/authorize", "/v1/token/exchange"];
  expect(asked.filter((path) => steps.includes(path))).toEqual(steps);
  expect(plane.bodyOf("/v1/token/exchange").action_id).toBe(grant.actionId);
});

test("params of an unprivileged target are ignored", async () => {
  const { svc, plane, session } = await fakeSession();
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const grant = await svc.authorize(session.context(), { ...read, params: cycle });
  expect(grant.transactionToken).toBeUndefined();
  expect(plane.asked).not.toContain("/v1/token/transaction");
});

test("taint is sent with the decision and the exchange", async () => {
  const { svc, plane, session } = await fakeSession();
  await svc.authorize(session.context(), { ...read, taint: "untrusted_external" });
  expect(plane.bodyOf("/v1/authorize").taint).toBe("untrusted_external");
  expect(plane.bodyOf("/v1/token/exchange").taint).toBe("untrusted_external");
});

test("with an agent key renewal, exchange and mint carry a proof of possession", async () => {
  const key = await importAgentKey(await generatePrivateJwk());
  const { svc, plane, session } = await fakeSession({ identityKey: key, agentName: "planner" });
  await svc.authorize(session.context(), { ...post, params: { amount: 5 } });
  for (const path of ["/v1/token/renew", "/v1/token/exchange", "/v1/token/transaction"]) {
    const { actor_token } = plane.bodyOf(path);
    expect(payloadOf(String(actor_token))).toMatchObject({
      iss: "planner",
      sub: "planner",
      aud: "https://control.test",
    });
  }
});

test("hop also returns the next recipient's context", async () => {
  const { svc, session } = await fakeSession();
  const [grant, next] = await svc.hop(session.context(), planner);
  expect(next).toMatchObject({
    sessionId,
    token: grant.accessToken,
    hop: 2,
    caller: "planner",
    actChain: ["user-1", "planner"],
  });
  const [, deeper] = await svc.hop(next, { ...planner, target: "clerk" });
  expect(deeper.actChain).toEqual(["user-1", "planner", "clerk"]);
});

test("one context serves many calls, also concurrent ones, and no token is presented twice", async () => {
  const { svc, plane, session } = await fakeSession();
  const context = session.context();
  await svc.authorize(context, read);
  const grants = await Promise.all(Array.from({ length: 20 }, () => svc.authorize(context, read)));
  expect(new Set(grants.map(({ accessToken }) => accessToken)).size).toBe(20);
  const subjects = plane.sent
    .filter(({ url }) => url.pathname === "/v1/token/exchange")
    .map(({ body }) => new URLSearchParams(body).get("subject_token"));
  expect(new Set(subjects).size).toBe(21);
});

describe("a deny", () => {
  const recordedDeny = "0197a000-0000-7000-8000-ffffffffffff";
  const facts = {
    name: "PolicyDenied",
    reason: "SCOPE_NOT_CONSENTED",
    recoverable: true,
    consentableScopes: ["travel"],
    target: read.target,
    dataClass: read.dataClass,
    hop: 1,
    sessionId,
    remedy: "ask the person to consent to one of these scopes: travel",
    link: "docs/troubleshooting.md#scope_not_consented",
    actionId: expect.stringMatching(/^0197a000/),
    taint: "untrusted_external",
    taintSource: "declared",
    policyVersion: 3,
  };

  test("is thrown with all its facts, and nothing is exchanged", async () => {
    const { svc, plane, session } = await fakeSession();
    plane.targets.set(read.target, { deny: "SCOPE_NOT_CONSENTED", consentable: ["travel"] });
    const error = await errorOf(svc.authorize(session.context(), { ...read, taint: "untrusted_external" }));
    expect(error).toBeInstanceOf(PolicyDenied);
    expect(error).toMatchObject(facts);
    expect(plane.asked).not.toContain("/v1/token/exchange");
  });

  test("is recoverable for no other reason", async () => {
    const { svc, plane, session } = await fakeSession();
    plane.targets.set(read.target, { deny: "TARGET_NOT_DECLARED" });
    const error = await errorOf(svc.authorize(session.context(), read));
    expect(error).toMatchObject({ reason: "TARGET_NOT_DECLARED", recoverable: false, consentableScopes: [] });
  });

  test("spends nothing: the context continues with the same tokens", async () => {
    const { svc, plane, session } = await fakeSession();
    plane.targets.set(read.target, { deny: "TARGET_NOT_DECLARED" });
    for (let i = 0; i < 20; i++) await errorOf(svc.authorize(session.context(), read));
    expect(plane.asked).not.toContain("/v1/token/renew");
    expect(plane.spent.size).toBe(0);
  });

  test.each([
    [
      "the exchange",
      "POST /v1/token/exchange",
      () =>
        json(403, { error: "invalid_target", error_description: "no longer: AGENT_REVOKED", action_id: recordedDeny }),
    ],
    [
      "the mint",
      "POST /v1/token/transaction",
      () => refused(403, "mint_refused", { deny_reason: "AGENT_REVOKED", action_id: recordedDeny }),
    ],
  ])("at %s is thrown like one at the decision, under its own record", async (_, route, reply) => {
    const { svc, plane, session } = await fakeSession();
    plane.replies.set(route, reply);
    const error = await errorOf(svc.authorize(session.context(), { ...post, params: { a: 1 } }));
    expect(error).toBeInstanceOf(PolicyDenied);
    expect(error).toMatchObject({ reason: "AGENT_REVOKED", recoverable: false, target: post.target, policyVersion: 3 });
    expect((error as PolicyDenied).actionId).toBe(recordedDeny);
  });

  test("names a taint that rose after the decision", async () => {
    const { svc, plane, session } = await fakeSession();
    plane.replies.set("POST /v1/token/exchange", () =>
      json(403, { error: "invalid_target", error_description: "TAINT_BLOCKED" }),
    );
    const error = await errorOf(svc.authorize(session.context(), read));
    expect(error).toMatchObject({ reason: "TAINT_BLOCKED", taint: "untrusted_external", taintSource: null });
  });
});

describe("a privileged call without params", () => {
  test("is rejected before anything is exchanged or minted", async () => {
    const { svc, plane, session } = await fakeSession();
    const error = await errorOf(svc.authorize(session.context(), post));
    expect(error).toBeInstanceOf(TransactionParamsRequired);
    expect(error).toMatchObject({ name: "TransactionParamsRequired", target: post.target });
    expect(plane.asked).not.toContain("/v1/token/exchange");
    expect(plane.asked).not.toContain("/v1/token/transaction");
  });

  test("spends nothing: with params it succeeds with the same tokens", async () => {
    const { svc, plane, session } = await fakeSession();
    for (let i = 0; i < 20; i++) await errorOf(svc.authorize(session.context(), post));
    expect(plane.asked).not.toContain("/v1/token/renew");
    expect(plane.spent.size).toBe(0);
    await svc.authorize(session.context(), { ...post, params: { amount: 5 } });
    expect(plane.asked.filter((path) => path === "/v1/token/renew")).toHaveLength(1);
  });
});

describe("params that cannot be bound are rejected before anything is spent", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const deep = { a: JSON.parse("[".repeat(70) + "]".repeat(70)) };
  test.each<[string, object]>([
    ["NaN", { amount: Number.NaN }],
    ["a bigint", { amount: 5n }],
    ["a cycle", cycle],
    ["a lone surrogate", { to: "\ud800" }],
    ["a nesting over 64", deep],
    ["an array", []],
  ])("%s", async (_, params) => {
    const { svc, plane, session } = await fakeSession();
    const error = await errorOf(
      svc.authorize(session.context(), { ...post, params: params as Record<string, unknown> }),
    );
    expect(error).toBeInstanceOf(TypeError);
    expect(plane.asked).not.toContain("/v1/token/exchange");
    expect(plane.spent.size).toBe(0);
  });

  test("params that changed during the hop", async () => {
    const { svc, plane, session } = await fakeSession();
    const params = { amount: 5 };
    const hop = svc.authorize(session.context(), { ...post, params });
    params.amount = 500;
    expect(await errorOf(hop)).toMatchObject({ message: expect.stringContaining("changed") });
    expect(plane.asked).not.toContain("/v1/token/exchange");
  });
});

test("a context whose token was spent elsewhere is rejected, not unavailable", async () => {
  const { svc, plane, session } = await fakeSession();
  plane.spent.add(decodeUnverifiedHopToken(session.rootGrant)?.jti ?? "");
  const error = await errorOf(svc.authorize(session.context(), read));
  expect(error).toBeInstanceOf(ControlPlaneRejected);
  expect(error).toMatchObject({ status: 401, code: "unauthorized" });
});

test("an exchange that was never sent burns no token: twenty need one renewal", async () => {
  const { svc, plane, session } = await fakeSession();
  plane.replies.set("POST /v1/token/exchange", () => {
    throw new TypeError("fetch failed", { cause: Object.assign(new Error("refused"), { syscall: "connect" }) });
  });
  for (let i = 0; i < 20; i++) {
    expect(await errorOf(svc.authorize(session.context(), read))).toMatchObject({ fault: "refused" });
  }
  expect(plane.asked.filter((path) => path === "/v1/token/renew")).toHaveLength(1);
});

test("a decision that gets no answer spends nothing", async () => {
  const { svc, plane, session } = await fakeSession();
  plane.replies.set("POST /v1/authorize", () => refused(503, "audit_unavailable"));
  for (let i = 0; i < 3; i++) await errorOf(svc.authorize(session.context(), read));
  expect(plane.spent.size).toBe(0);
});

test("a closed client takes no hop", async () => {
  const { svc, session } = await fakeSession();
  await svc.close();
  expect(await errorOf(svc.authorize(session.context(), read))).toBeInstanceOf(TypeError);
});

test("the bearer of a hop is the context's token or a sibling of it, never an operator's", async () => {
  const { svc, plane, session } = await fakeSession();
  await svc.authorize(session.context(), { ...post, params: { a: 1 } });
  for (const request of plane.sent.filter(({ url }) => url.pathname !== "/v1/consent")) {
    expect(["admin-bearer", "audit-bearer", "identity-bearer"]).not.toContain(bearerOf(request));
  }
});
