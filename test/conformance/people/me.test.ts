import { aTool } from "@svc/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { logInClient, type PeopleStack, startPeopleStack } from "../src/people-stack.ts";

let stack: PeopleStack;
beforeAll(async () => {
  stack = await startPeopleStack();
  await stack.register("planner", { expenses: { hop_budget: 3, tools: [aTool("http:ledger/read")] } });
});
afterAll(() => stack.stop());

test("a person sees what it allowed and what was done with it, and ends it at once", async () => {
  const { session, tokens, browser } = await logInClient(stack, { person: "ada" });
  const hop = { target: "planner", target_kind: "agent", data_class: "finance.entries" } as const;
  const { token } = await stack.api.hop(session.session_id, session.root_grant, hop);
  await stack.api.authorize(session.session_id, token, {
    target: "http:ledger/read",
    target_kind: "tool",
    data_class: "finance.entries",
  });
  const page = await browser.visit("/me");
  expect(page.text).toContain("http:ledger/read");
  expect(page.text).toContain(session.session_id);

  const after = await browser.submit(page, { session: session.session_id });
  expect(after.text).toContain("Nothing runs in your name now.");
  expect(await stack.redeem(tokens.access_token)).toMatchObject({ status: 404 });
  const again = await stack.api.authorize(session.session_id, token, hop);
  expect(again.body?.decision ?? again.status).not.toBe("allow");
  const [ended] = await stack.events("session_revoked", session.session_id);
  expect(ended).toMatchObject({ actor: "ada", reason: "ended by the person" });
});

test("no person sees or ends what another one allowed", async () => {
  const { session, tokens } = await logInClient(stack, { person: "ada" });
  const { browser: ben } = await logInClient(stack, { person: "ben" });
  const page = await ben.visit("/me");
  expect(page.text).not.toContain(session.session_id);
  for (const fields of [{ session: session.session_id }, { session: "nothing" }, { all: "yes" }]) {
    await ben.submit(page, fields);
  }
  expect(await stack.redeem(tokens.access_token)).toMatchObject({ status: 200 });
});

test("all at once", async () => {
  const first = await logInClient(stack, { person: "cyd" });
  const second = await logInClient(stack, { person: "cyd" });
  const page = await second.browser.visit("/me");
  expect(page.text).toContain("2 consents of yours are in force.");
  await second.browser.submit(page, { all: "yes" });
  for (const { tokens } of [first, second])
    expect(await stack.redeem(tokens.access_token)).toMatchObject({ status: 404 });
});
