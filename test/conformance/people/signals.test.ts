import { aTool, testBearers, waitUntil } from "@svc/test-support";
import * as client from "openid-client";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { logInClient, type PeopleStack, startPeopleStack } from "../src/people-stack.ts";
import { follow } from "../src/pushed.ts";

let stack: PeopleStack;
beforeAll(async () => {
  stack = await startPeopleStack();
  await stack.register("planner", { expenses: { hop_budget: 3, tools: [aTool("http:ledger/read")] } });
});
afterAll(() => stack.stop());

test("once the provider says that an account is disabled, the person's agent is denied at once, at every process", async () => {
  const { session, tokens, config } = await logInClient(stack);
  const others = await logInClient(stack, { person: "ben" });
  const hop = { target: "planner", target_kind: "agent", data_class: "finance.entries" } as const;
  const { token } = await stack.otherApi.hop(session.session_id, session.root_grant, hop);
  const pushed = await follow(stack.otherApi.url, { bearer: testBearers.identity });
  onTestFinished(pushed.close);
  const call = { target: "http:ledger/read", target_kind: "tool", data_class: "finance.entries" } as const;
  expect((await stack.otherApi.authorize(session.session_id, token, call)).body.decision).toBe("allow");

  expect((await stack.deliver(await stack.accountDisabled("ada"))).status).toBe(202);

  const denied = await stack.otherApi.authorize(session.session_id, token, call);
  expect(denied.body).toMatchObject({ decision: "deny", deny_reason: "SESSION_REVOKED" });
  expect(await stack.redeem(tokens.access_token)).toMatchObject({ status: 404 });
  await expect(client.refreshTokenGrant(config, tokens.refresh_token ?? "")).rejects.toMatchObject({
    error: "invalid_grant",
  });
  expect(await stack.redeem(others.tokens.access_token)).toMatchObject({ status: 200 });
  const { body } = await stack.otherApi.call("GET", "/v1/sign-ins?user_sub=ada", { bearer: testBearers.audit });
  expect(body.data.map(({ status }: { status: string }) => status)).toEqual(["ended"]);
  await waitUntil("the end in the push", async () =>
    pushed.events().some(({ data }) => data.kind === "session_revoked" && data.session_id === session.session_id),
  );
});
