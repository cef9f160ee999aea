import { aTool, testBearers } from "@svc/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deniedCall as deniedCallOf, type PeopleStack, startPeopleStack } from "../src/people-stack.ts";

let stack: PeopleStack;
beforeAll(async () => {
  stack = await startPeopleStack({ SVC_CONSENT_TTL_BY_SCOPE: "payments-approval=60" });
  await stack.register("planner", {
    expenses: { hop_budget: 3, tools: [aTool("http:ledger/read")] },
    "payments-approval": {
      hop_budget: 2,
      tools: [aTool("http:bank/send", { privileged: true, access: "write", data_classes: ["payments"] })],
    },
  });
});
afterAll(() => stack.stop());

const send = { target: "http:bank/send", target_kind: "tool", data_class: "payments" } as const;
const deniedCall = () => deniedCallOf(stack, send);

test("a recoverable deny leads to the question that admits it; after the consent there is a session beside", async () => {
  const { session, token, decision } = await deniedCall();
  expect(decision).toMatchObject({ deny_reason: "SCOPE_NOT_CONSENTED", consentable_scopes: ["payments-approval"] });
  expect(decision.consent_url.startsWith(`${stack.issuer}/consent?ask=`)).toBe(true);
  expect((await stack.beside(token)).body).toEqual({ data: [] });

  const ada = stack.browser("ada");
  const page = await ada.visit(decision.consent_url);
  expect(page.text).toContain("http:bank/send");
  expect(page.text).toContain("privileged");
  expect(await ada.submit(page, { answer: "allow", ttl: "60" })).toMatchObject({ status: 200 });

  const { body } = await stack.beside(token);
  expect(body.data).toMatchObject([{ scope: "payments-approval", agent: "planner", data_class: "payments" }]);
  const [second] = body.data;
  const entered = await stack.api.hop(second.session_id, second.root_grant, {
    target: "planner",
    target_kind: "agent",
    data_class: second.data_class,
  });
  expect((await stack.api.authorize(second.session_id, entered.token, send)).body).toMatchObject({ decision: "allow" });
  const [event] = await stack.events("consent_granted", second.session_id);
  expect(event).toMatchObject({ actor: "ada", details: { beside: session, action_id: decision.action_id } });
});

test("a link is for one denied call: it is answered once, in whichever process", async () => {
  const { token, decision } = await deniedCall();
  const ada = stack.browser("ada");
  const [one, two] = [await ada.visit(decision.consent_url), await ada.visit(decision.consent_url)];
  expect(await ada.submit(one, { answer: "allow" })).toMatchObject({ status: 200 });
  expect(await ada.submit(two, { answer: "allow" }, {}, stack.otherApi.url)).toMatchObject({ status: 409 });
  expect((await stack.beside(token)).body.data).toHaveLength(1);
});

test("a refusal admits nothing", async () => {
  const { session, token, decision } = await deniedCall();
  const ada = stack.browser("ada");
  const refused = await ada.submit(await ada.visit(decision.consent_url), { answer: "refuse" });
  expect(refused.text).toContain("Nothing was allowed.");
  expect((await stack.beside(token)).body).toEqual({ data: [] });
  expect((await stack.events("consent_refused", session))[0]).toMatchObject({ actor: "ada", agent: "planner" });
});

test("a link that was forwarded is of no use to others", async () => {
  const { token, decision } = await deniedCall();
  const shown = await stack.browser("ben").visit(decision.consent_url);
  expect(shown.status).toBe(403);
  expect(shown.text).toContain("for another person");
  expect((await stack.beside(token)).body).toEqual({ data: [] });
});

test.each([
  ["altered", (url: string) => `${url.slice(0, -6)}AAAAAA`],
  ["cut", (url: string) => url.slice(0, -1)],
  ["empty", () => `/consent?ask=`],
  ["absent", () => "/consent"],
])("a link that is %s is over", async (_name, change) => {
  const { decision } = await deniedCall();
  expect(await stack.browser("ada").visit(change(decision.consent_url))).toMatchObject({ status: 410 });
});

test("a link of a session that has ended is over, and so is its answer", async () => {
  const { session, decision } = await deniedCall();
  const ada = stack.browser("ada");
  const page = await ada.visit(decision.consent_url);
  await stack.api.call("POST", `/v1/sessions/${session}/revoke`, { bearer: testBearers.admin, body: {} });
  expect(await ada.visit(decision.consent_url)).toMatchObject({ status: 410 });
  expect(await ada.submit(page, { answer: "allow" })).toMatchObject({ status: 410 });
});

test("there is no link for observed denies, nor where the person itself called", async () => {
  const { session, root, token } = await deniedCall();
  const observed = await stack.api.authorize(session, token, send, { enforced: false });
  expect(observed.body).not.toHaveProperty("consent_url");
  expect((await stack.api.authorize(session, root, send)).body).not.toHaveProperty("consent_url");
});

test("sessions beside are listed for the caller's own token alone", async () => {
  const { root, decision, token } = await deniedCall();
  const ada = stack.browser("ada");
  await ada.submit(await ada.visit(decision.consent_url), { answer: "allow" });
  expect((await stack.beside(token)).body.data).toHaveLength(1);
  // The person's own token holds none of the agent's.
  expect((await stack.beside(root)).body).toEqual({ data: [] });
  expect(await stack.beside("no.good.token")).toMatchObject({ status: 400 });
});

test.each([
  ["ending it", (session: string) => [`/v1/sessions/${session}/revoke`, {}] as const],
  ["ending all of the person", () => ["/v1/sessions/revoke", { user_sub: "ada" }] as const],
])("a session ends with the one that it is beside: by %s", async (_name, request) => {
  const { session, decision, token } = await deniedCall();
  const ada = stack.browser("ada");
  await ada.submit(await ada.visit(decision.consent_url), { answer: "allow" });
  const [second] = (await stack.beside(token)).body.data;
  const hop = { target: "planner", target_kind: "agent", data_class: second.data_class } as const;
  const entered = await stack.api.hop(second.session_id, second.root_grant, hop);
  const [path, body] = request(session);
  await stack.api.call("POST", path, { bearer: testBearers.admin, body: { ...body, reason: "an incident" } });
  const { body: after } = await stack.otherApi.authorize(second.session_id, entered.token, send);
  expect(after).toMatchObject({ decision: "deny", deny_reason: "SESSION_REVOKED" });
  expect((await stack.events("session_revoked", second.session_id))[0]).toMatchObject({ reason: "an incident" });
});
