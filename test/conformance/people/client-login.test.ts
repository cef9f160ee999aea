import { aTool, testBearers } from "@svc/test-support";
import * as client from "openid-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  answerIn,
  enforcementToken,
  logInClient,
  type PeopleStack,
  resource,
  startPeopleStack,
  stockClient,
} from "../src/people-stack.ts";

let stack: PeopleStack;
beforeAll(async () => {
  stack = await startPeopleStack({ SVC_CONSENT_TTL_BY_SCOPE: "payments=60" });
  await stack.register("planner", {
    expenses: {
      hop_budget: 3,
      tools: [aTool("http:ledger/read"), aTool("http:ledger/pay", { privileged: true, access: "write" })],
    },
    payments: { hop_budget: 2, tools: [aTool("http:bank/send")] },
  });
});
afterAll(() => stack.stop());

test("a stock client goes from metadata to tokens through the person's consent, and refreshes", async () => {
  const { config, begin } = await stockClient(stack);
  const login = await begin();
  const browser = stack.browser("ada");
  const page = await browser.visit(login.url);
  expect(page.status).toBe(200);
  expect(page.text).toContain("Allow planner to act for you?");
  expect(page.text).toContain("http:ledger/pay");
  const back = await browser.submit(page, { answer: "allow", ttl: "900" });
  const code = expect.stringMatching(/^svc_code_/);
  expect(answerIn(back)).toMatchObject({ state: login.state, iss: stack.issuer, code });

  const tokens = await login.finish(back.url);
  expect(tokens).toMatchObject({ token_type: "bearer", scope: "expenses", expires_in: 600 });
  const redeemed = await stack.redeem(tokens.access_token);
  const session = { scope: "expenses", agent: "planner", client_id: "notebook", data_class: "finance.entries" };
  expect(redeemed.body).toMatchObject(session);

  // The root grant takes hop 1 to the agent, as an enforcement point does.
  const hop = { target: "planner", target_kind: "agent", data_class: "finance.entries" } as const;
  await stack.api.hop(redeemed.body.session_id, redeemed.body.root_grant, hop);

  const renewed = await client.refreshTokenGrant(config, tokens.refresh_token ?? "");
  expect(await stack.redeem(renewed.access_token)).toMatchObject({ status: 200 });

  const [consent] = await stack.events("consent_granted", redeemed.body.session_id);
  const hash = expect.stringMatching(/^[\w-]{43}$/);
  const details = { agent: "planner", client_id: "notebook", resource, shown_sha256: hash, id_token_sha256: hash };
  expect(consent).toMatchObject({ actor: "ada", details });
});

test("a refusal is an event, and the client gets access_denied", async () => {
  const { begin } = await stockClient(stack);
  const login = await begin();
  const browser = stack.browser("ada");
  const back = await browser.submit(await browser.visit(login.url), { answer: "refuse" });
  expect(answerIn(back)).toMatchObject({ error: "access_denied", state: login.state, iss: stack.issuer });
  await expect(login.finish(back.url)).rejects.toThrow();
  expect((await stack.events("consent_refused"))[0]).toMatchObject({ actor: "ada", agent: "planner" });
});

test.each([
  ["less than the scope's life", "expenses", "60", 60],
  ["more than the scope's life", "payments", "86400", 60],
  ["something that is no number", "expenses", "9e9", 60],
  ["the scope's life", "expenses", "3600", 3_600],
])("the session lives as long as chosen, never longer than its scope may: %s", async (_name, scope, ttl, seconds) => {
  const { session } = await logInClient(stack, { scope, ttl });
  const { body } = await stack.api.call("GET", `/v1/sessions/${session.session_id}`, { bearer: testBearers.audit });
  expect((Date.parse(body.expires_at) - Date.parse(body.consented_at)) / 1_000).toBeGreaterThan(seconds - 1);
  expect((Date.parse(body.expires_at) - Date.parse(body.consented_at)) / 1_000).toBeLessThanOrEqual(seconds);
});

test("several scopes are one consent: a session for the first, and one beside it for each other", async () => {
  const { session, page } = await logInClient(stack, { scope: "expenses payments" });
  expect(page.text).toContain("http:bank/send");
  const hop = { target: "planner", target_kind: "agent", data_class: "finance.entries" } as const;
  const { token } = await stack.api.hop(session.session_id, session.root_grant, hop);
  const { body } = await stack.beside(token);
  expect(body.data).toMatchObject([{ scope: "payments", agent: "planner" }]);
  expect((Date.parse(body.data[0].expires_at) - Date.now()) / 1_000).toBeLessThanOrEqual(60);
  expect((Date.parse(session.expires_at) - Date.now()) / 1_000).toBeGreaterThan(60);
  const besideEvents = await stack.events("consent_granted", body.data[0].session_id);
  expect(besideEvents[0]).toMatchObject({ details: { beside: session.session_id } });
});

test("any of two processes serves each step", async () => {
  const { config, begin } = await stockClient(stack);
  const login = await begin();
  const browser = stack.browser("ada");
  const page = await browser.visit(login.url);
  const back = await browser.submit(page, { answer: "allow" }, {}, stack.otherApi.url);
  const tokens = await login.finish(back.url);
  expect(await stack.redeem(tokens.access_token, resource, stack.otherApi)).toMatchObject({ status: 200 });
  await client.tokenRevocation(config, tokens.refresh_token ?? "");
  for (const api of [stack.api, stack.otherApi]) {
    expect(await stack.redeem(tokens.access_token, resource, api)).toMatchObject({ status: 404 });
  }
});

test("a client whose secret is configured must present it, by header or in the form", async () => {
  const { config } = await stockClient(stack, "backend", client.ClientSecretBasic(stack.backendSecret));
  await expect(client.refreshTokenGrant(config, "svc_rt_unknown")).rejects.toMatchObject({ error: "invalid_grant" });
  for (const [method, fault] of [
    [client.None(), { error: "invalid_client", status: 400 }],
    [client.ClientSecretPost("another-secret-of-the-backend"), { error: "invalid_client", status: 400 }],
    [client.ClientSecretBasic("another-secret-of-the-backend"), { status: 401 }],
  ] as const) {
    const { config: wrong } = await stockClient(stack, "backend", method);
    await expect(client.refreshTokenGrant(wrong, "svc_rt_unknown")).rejects.toMatchObject(fault);
  }
});

test("the one token endpoint of the metadata serves stock clients of RFC 8693 too", async () => {
  const { config } = await stockClient(stack);
  const { session, token } = await stack.api.consent("expenses");
  const decision = await stack.api.authorize(session, token, {
    target: "planner",
    target_kind: "agent",
    data_class: "finance.entries",
  });
  const type = "urn:ietf:params:oauth:token-type:jwt";
  const exchanged = await client.genericGrantRequest(config, "urn:ietf:params:oauth:grant-type:token-exchange", {
    subject_token: token,
    subject_token_type: type,
    resource: "planner",
    scope: "finance.entries",
    action_id: decision.body.action_id,
  });
  expect(exchanged).toMatchObject({ issued_token_type: type });
});

test("only the enforcement plane redeems", async () => {
  const { tokens } = await logInClient(stack);
  const body = { handle: tokens.access_token, resource };
  const { admin, audit, identity } = testBearers;
  for (const bearer of [admin, audit, identity]) {
    expect(await stack.api.call("POST", "/v1/handles/redeem", { bearer, body })).toMatchObject({ status: 401 });
  }
  const bearer = enforcementToken;
  expect(await stack.api.call("POST", "/v1/handles/redeem", { bearer, body })).toMatchObject({ status: 200 });
  expect(await stack.api.call("GET", "/v1/sessions", { bearer })).toMatchObject({ status: 401 });
});
