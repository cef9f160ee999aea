import { aTool, startEchoUpstream, testBearers, waitUntil } from "@svc/test-support";
import { createRemoteJWKSet, decodeJwt, jwtVerify } from "jose";
import * as client from "openid-client";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { logInClient, type PeopleStack, startPeopleStack } from "../src/people-stack.ts";
import { follow } from "../src/pushed.ts";

/** Events that wait at the provider's poll endpoint, by `jti`. */
const atProvider = new Map<string, string>();
const pollEndpoint = await startEchoUpstream(({ body }, response) => {
  const { ack } = JSON.parse(String(body));
  for (const jti of ack) atProvider.delete(jti);
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ sets: Object.fromEntries(atProvider) }));
});
afterAll(pollEndpoint.stop);

let stack: PeopleStack;
beforeAll(async () => {
  stack = await startPeopleStack({
    SVC_SIGNALS_POLL_URL: pollEndpoint.url,
    SVC_SIGNALS_POLL_TOKEN: "a-token-of-the-provider",
    SVC_DISCOVERY_ALLOW: "127.0.0.1",
  });
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

test("an event that waits at the provider is fetched, and acknowledged once the person's session is over", async () => {
  const { tokens } = await logInClient(stack, { person: "cyd" });
  atProvider.set("waiting", await stack.accountDisabled("cyd"));
  await waitUntil("the acknowledgement", async () => atProvider.size === 0);
  expect(await stack.redeem(tokens.access_token)).toMatchObject({ status: 404 });
});

test("of two processes one pushes what was ended at either, once and in order, to a receiver that knows the metadata alone", async () => {
  const received: string[] = [];
  const receiver = await startEchoUpstream(({ body }, response) => {
    received.push(String(body));
    response.writeHead(202).end();
  });
  onTestFinished(receiver.stop);
  const { body: metadata } = await stack.api.call("GET", "/.well-known/ssf-configuration", {});
  const post = (endpoint: string, body: object) =>
    stack.api.call("POST", new URL(endpoint).pathname, { bearer: testBearers.identity, body });
  const delivery = { method: "urn:ietf:rfc:8935", endpoint_url: receiver.url };
  const { aud: audience, stream_id: id } = (await post(metadata.configuration_endpoint, { delivery })).body;
  const ended: string[] = [];
  for (const at of [stack.api, stack.otherApi, stack.api, stack.otherApi]) {
    const { session } = await at.consent("expenses");
    await at.call("POST", `/v1/sessions/${session}/revoke`, { bearer: testBearers.admin, body: {} });
    ended.push(session);
  }
  await waitUntil("each", async () => ended.every((session) => received.some((set) => subjectOf(set) === session)));
  await post(metadata.verification_endpoint, { stream_id: id, state: "last" });
  await waitUntil("the verification", async () => received.some((set) => subjectOf(set) === id));
  const keys = createRemoteJWKSet(new URL(metadata.jwks_uri));
  const options = { issuer: metadata.issuer, audience, typ: "secevent+jwt" };
  await Promise.all(received.map((set) => jwtVerify(set, keys, options)));
  // It may begin with earlier ones: some transaction was open when the stream was made.
  const own = new Set([...ended, id]);
  expect(received.map(subjectOf).filter((subject) => own.has(subject))).toEqual([...ended, id]);
});

/** The session that an event is about, or the stream. */
function subjectOf(set: string): string {
  const { session, id } = decodeJwt(set).sub_id as { readonly session?: { readonly id: string }; readonly id?: string };
  return session?.id ?? id ?? "";
}
