import { aTool, testBearers } from "@svc/test-support";
import * as client from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  answerIn,
  logInClient,
  type PeopleStack,
  redirectUri,
  resource,
  startPeopleStack,
  stockClient,
} from "../src/people-stack.ts";

let stack: PeopleStack;
beforeAll(async () => {
  stack = await startPeopleStack();
  await stack.register("planner", { expenses: { hop_budget: 3, tools: [aTool("http:ledger/read")] } });
});
afterAll(() => stack.stop());

describe("a request that could be of another party leads nowhere: the person sees a page", () => {
  test.each([
    ["an unknown client", { client_id: "stranger" }],
    ["no client", { client_id: "" }],
    ["a client id that is an address of no document", { client_id: "https://127.0.0.1:1/client" }],
    ["another address to return to", { redirect_uri: "https://evil.test/callback" }],
    ["a longer address", { redirect_uri: `${redirectUri}/more` }],
    ["an address with a query", { redirect_uri: `${redirectUri}?a=b` }],
    ["an address of another port", { redirect_uri: "https://notebook.test:444/callback" }],
    ["an address that hides its host", { redirect_uri: "https://notebook.test@evil.test/callback" }],
    ["a script", { redirect_uri: "javascript:alert(1)" }],
    ["loopback with another path", { redirect_uri: "http://127.0.0.1:4711/other" }],
  ])("%s", async (_name, changes) => {
    const { begin } = await stockClient(stack);
    const shown = await stack.browser("ada").visit((await begin(changes)).url);
    expect(shown.url.origin).toBe(stack.issuer);
    expect(shown.status).toBe(400);
    expect(shown.text).toContain("This application cannot be let in");
  });
});

describe("a request of a known client is refused at its own address", () => {
  test.each([
    ["the implicit flow", { response_type: "token" }, "unsupported_response_type"],
    ["plain PKCE", { code_challenge_method: "plain" }, "invalid_request"],
    ["no PKCE", { code_challenge: "", code_challenge_method: "" }, "invalid_request"],
    ["no resource", { resource: "" }, "invalid_target"],
    ["a resource of another host", { resource: "https://evil.test/ledger" }, "invalid_target"],
    ["a resource above those that are guarded", { resource: "https://tools.test.evil.test/" }, "invalid_target"],
    ["a resource with a fragment", { resource: `${resource}#a` }, "invalid_target"],
    ["no scope", { scope: "" }, "invalid_scope"],
    ["a scope that nothing grants", { scope: "nothing" }, "invalid_scope"],
    ["too many scopes", { scope: "a b c d e f g h i" }, "invalid_scope"],
  ])("%s", async (_name, changes, error) => {
    const { begin } = await stockClient(stack);
    const login = await begin(changes);
    const shown = await stack.browser("ada").visit(login.url);
    expect(shown.url.href.startsWith(`${redirectUri}?`)).toBe(true);
    expect(answerIn(shown)).toMatchObject({ error, state: login.state, iss: stack.issuer });
  });
});

test("a loopback client may listen on any port (RFC 8252 section 7.3)", async () => {
  const { begin } = await stockClient(stack);
  const browser = stack.browser("ada");
  const page = await browser.visit((await begin({ redirect_uri: "http://127.0.0.1:4711/callback" })).url);
  const back = await browser.submit(page, { answer: "allow" });
  expect(back.url.href).toMatch(/^http:\/\/127\.0\.0\.1:4711\/callback\?code=/);
});

describe("what is used twice ends what came of it", () => {
  const expectEnded = async (handle: string, session: string, reason: RegExp) => {
    expect(await stack.redeem(handle)).toMatchObject({ status: 404 });
    const [ended] = await stack.events("session_revoked", session);
    expect(ended).toMatchObject({ actor: "notebook", reason: expect.stringMatching(reason) });
  };

  test("a code", async () => {
    const { login, back, tokens, session } = await logInClient(stack);
    await expect(login.finish(back.url)).rejects.toMatchObject({ error: "invalid_grant" });
    await expectEnded(tokens.access_token, session.session_id, /code was used twice/);
  });

  test("a refresh token, with the tokens that its thief got", async () => {
    const { config, tokens, session } = await logInClient(stack);
    const stolen = await client.refreshTokenGrant(config, tokens.refresh_token ?? "");
    await expect(client.refreshTokenGrant(config, tokens.refresh_token ?? "")).rejects.toMatchObject({
      error: "invalid_grant",
    });
    await expectEnded(stolen.access_token, session.session_id, /refresh token was used twice/);
    await expect(client.refreshTokenGrant(config, stolen.refresh_token ?? "")).rejects.toMatchObject({
      error: "invalid_grant",
    });
  });

  test("a code, by many at once: one wins at most, and what it got is worth nothing", async () => {
    const { begin } = await stockClient(stack);
    const login = await begin();
    const browser = stack.browser("ada");
    const back = await browser.submit(await browser.visit(login.url), { answer: "allow" });
    const all = await Promise.allSettled(Array.from({ length: 8 }, () => login.finish(back.url)));
    const won = all.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    expect(won.length).toBeLessThanOrEqual(1);
    for (const { access_token } of won) expect(await stack.redeem(access_token)).toMatchObject({ status: 404 });
  });
});

describe("a stolen code is of no use", () => {
  test.each([
    ["without its verifier", { code_verifier: client.randomPKCECodeVerifier() }],
    ["at another address", { redirect_uri: "http://127.0.0.1/callback" }],
    ["for another resource", { resource: "https://tools.test/other" }],
    ["by another client", { client_id: "other" }],
  ])("%s", async (_name, changes) => {
    const { begin } = await stockClient(stack);
    const login = await begin();
    const browser = stack.browser("ada");
    const back = await browser.submit(await browser.visit(login.url), { answer: "allow" });
    const good = {
      grant_type: "authorization_code",
      code: answerIn(back).code ?? "",
      redirect_uri: redirectUri,
      code_verifier: login.verifier,
      client_id: "notebook",
    };
    const send = (form: object) =>
      fetch(`${stack.issuer}/oauth/token`, {
        method: "POST",
        redirect: "manual",
        body: new URLSearchParams({ ...form } as Record<string, string>),
      });
    expect((await send({ ...good, ...changes })).status).toBe(400);
    expect((await send(good)).status).toBe(200);
  });
});

test("an access token is good at its resource alone", async () => {
  const { tokens } = await logInClient(stack);
  expect(await stack.redeem(tokens.access_token, "https://tools.test/other")).toMatchObject({ status: 404 });
  expect(await stack.redeem(tokens.access_token, `${resource}/`)).toMatchObject({ status: 404 });
  expect(await stack.redeem(tokens.access_token)).toMatchObject({ status: 200 });
});

describe("a form that no page of ours sent changes nothing", () => {
  test.each([
    ["from another site", {}, { "sec-fetch-site": "cross-site" }],
    ["from another site of the same domain", {}, { "sec-fetch-site": "same-site" }],
    ["with another origin, by a browser that says no more", {}, { origin: "https://evil.test", "sec-fetch-site": "" }],
    ["without its token", { form: "" }, {}],
    ["with a token of another person", { form: "A".repeat(43) }, {}],
  ])("%s", async (_name, fields, headers) => {
    const { begin } = await stockClient(stack);
    const browser = stack.browser("ada");
    const page = await browser.visit((await begin()).url);
    const before = await stack.events("consent_granted");
    const answer = await browser.submit(page, { answer: "allow", ...fields }, headers);
    expect(answer.status).toBe(403);
    expect(await stack.events("consent_granted")).toEqual(before);
    // The person can still answer the page.
    expect(answerIn(await browser.submit(page, { answer: "allow" }))).toHaveProperty("code");
  });
});

test("a question is answered by the sign-in that it was shown to, once, and as it was shown", async () => {
  const { begin } = await stockClient(stack);
  const [ada, ben] = [stack.browser("ada"), stack.browser("ben")];
  const page = await ada.visit((await begin()).url);
  const bens = await ben.visit((await begin()).url);
  const question = /name="question" value="([^"]*)"/.exec(page.text)?.[1] ?? "";
  expect(await ben.submit(bens, { answer: "allow", question })).toMatchObject({ status: 410 });
  const altered = `${question.slice(0, -4)}AAAA`;
  expect(await ada.submit(page, { answer: "allow", question: altered })).toMatchObject({ status: 410 });
  expect(await ada.submit(page, { answer: "maybe" })).toMatchObject({ status: 400 });
  expect(answerIn(await ada.submit(page, { answer: "allow" }))).toHaveProperty("code");
  expect(await ada.submit(page, { answer: "allow" })).toMatchObject({ status: 409 });
  expect(await ada.submit(page, { answer: "refuse" })).toMatchObject({ status: 409 });
});

test("a policy that changed between page and click is shown anew, and nothing was allowed", async () => {
  await stack.register("booker", { travel: { hop_budget: 2, tools: [aTool("http:trips/list")] } });
  const { begin } = await stockClient(stack);
  const ada = stack.browser("ada");
  const page = await ada.visit((await begin({ scope: "travel" })).url);
  const more = { travel: { hop_budget: 2, tools: [aTool("http:trips/list"), aTool("http:trips/book")] } };
  const body = { agent: "booker", manifest: { scopes: more }, override: { reason: "a test" } };
  expect(await stack.api.call("POST", "/v1/manifests", { bearer: testBearers.admin, body })).toMatchObject({
    status: 201,
  });
  const anew = await ada.submit(page, { answer: "allow" });
  expect(anew.status).toBe(409);
  expect(anew.text).toContain("http:trips/book");
  expect(answerIn(await ada.submit(anew, { answer: "allow" }))).toHaveProperty("code");
});

test("an agent whose name looks like another's is named so", async () => {
  await stack.register("p1anner", { holidays: { hop_budget: 2, tools: [aTool("http:beach/book")] } });
  const { begin } = await stockClient(stack);
  const page = await stack.browser("ada").visit((await begin({ scope: "holidays" })).url);
  expect(page.text).toContain("Look twice: this is p1anner.");
});

test("no page can be framed, cached, or run a script, and each says so", async () => {
  const { begin } = await stockClient(stack);
  const ada = stack.browser("ada");
  const page = await ada.visit((await begin()).url);
  expect(page.text).not.toContain("<script");
  for (const { headers } of [page, await ada.visit("/me"), await ada.visit("/consent?ask=nothing")]) {
    expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
  }
});

test("names of clients and scopes are text, whatever they hold", async () => {
  const scope = "</code><script>alert(1)</script>";
  await stack.register("scribe", { [scope]: { hop_budget: 2, tools: [aTool("http:scribe/write")] } });
  const { begin } = await stockClient(stack);
  const page = await stack.browser("ada").visit((await begin({ scope })).url);
  expect(page.status).toBe(200);
  expect(page.text).not.toContain("<script");
});
