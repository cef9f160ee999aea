import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./src/api.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";
import { startPair } from "./src/stack.ts";

let one: Api;
let other: Api;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ one, other, stop } = await startPair());
  await registerLedger(one, "books");
}, 60_000);
afterAll(() => stop());

const hops = ledgerHops("books");

async function allowedRead(api: Api) {
  const { session, clerk } = await clerkSession(api, "books");
  const decision = await api.authorize(session, clerk.token, hops.read);
  return { session, token: clerk.token, action: decision.body.action_id as string };
}

describe("a token and an allow are spent once, together", () => {
  test("of 64 parallel exchanges of one token over two processes one succeeds and 63 are invalid_grant", async () => {
    const { token, action } = await allowedRead(one);
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, n) => (n % 2 === 0 ? one : other).exchange(token, hops.read, action)),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array(63).fill(400)]);
    const refusals = answers.filter(({ status }) => status === 400).map(({ body }) => body.error);
    expect(new Set(refusals)).toEqual(new Set(["invalid_grant"]));
  });

  test("one token with two allows is exchanged once", async () => {
    const { session, token, action } = await allowedRead(one);
    const second = (await one.authorize(session, token, hops.read)).body.action_id;
    const answers = await Promise.all([
      one.exchange(token, hops.read, action),
      other.exchange(token, hops.read, second),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  test("one allow with two sibling tokens is exchanged once, and the other sibling stays good", async () => {
    const { session, clerk } = await clerkSession(one, "books");
    const [a, b] = (await one.renew(clerk.token, 2)).body.tokens;
    const action = (await one.authorize(session, a, hops.read)).body.action_id;
    const answers = await Promise.all([one.exchange(a, hops.read, action), other.exchange(b, hops.read, action)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const spare = answers[0]?.status === 200 ? b : a;
    const next = (await one.authorize(session, spare, hops.read)).body.action_id;
    expect((await other.exchange(spare, hops.read, next)).status).toBe(200);
  });

  test("a refused exchange burns neither token nor allow", async () => {
    const { token, action } = await allowedRead(one);
    expect((await one.exchange(token, hops.browse, action)).status).toBe(400);
    expect((await one.exchange(token, hops.read, action)).status).toBe(200);
  });
});

describe("an exchange answers exactly the hop that was allowed", () => {
  test.each([
    ["another target", { resource: "http:books/browse" }],
    ["another data class", { scope: "finance" }],
    ["a wider data class", { scope: "finance.entries web" }],
    ["no action", { action_id: "" }],
    ["a malformed action", { action_id: "1 or 1=1" }],
    ["an unknown action", { action_id: "01a00000-0000-7000-8000-000000000000" }],
    ["a target with a NUL", { resource: "http:books/read\0" }],
    ["an action of a megabyte less a little", { action_id: "a".repeat(900_000) }],
  ])("%s is the same invalid_grant", async (_case, change) => {
    const { token, action } = await allowedRead(one);
    const { status, body } = await one.exchange(token, hops.read, action, change);
    expect({ status, error: body.error }).toEqual({ status: 400, error: "invalid_grant" });
  });

  test("another session's allow is the same invalid_grant", async () => {
    const [mine, theirs] = [await allowedRead(one), await allowedRead(one)];
    const foreign = await one.exchange(mine.token, hops.read, theirs.action);
    const unknown = await one.exchange(mine.token, hops.read, "01a00000-0000-7000-8000-000000000000");
    expect(foreign.text).toBe(unknown.text);
  });

  test("a deny cannot be exchanged", async () => {
    const { session, clerk } = await clerkSession(one, "books");
    const denied = { ...hops.read, target: "http:books/nowhere" };
    const decision = await one.authorize(session, clerk.token, denied);
    expect(decision.body).toMatchObject({ decision: "deny", deny_reason: "TARGET_NOT_DECLARED" });
    expect((await one.exchange(clerk.token, denied, decision.body.action_id)).status).toBe(400);
  });
});

describe("the form is read strictly, in the RFC 6749 error shape", () => {
  const send = (body: string, headers: Record<string, string> = {}, query = "") =>
    one.call("POST", `/v1/token/exchange${query}`, {
      raw: { body, headers: { "content-type": "application/x-www-form-urlencoded", ...headers } },
    });
  const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
  const whole = () => ({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: "x.y.z",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    resource: "t",
    scope: "c",
    action_id: "01a00000-0000-7000-8000-000000000000",
  });

  test.each([
    ["a repeated action_id", () => `${form(whole())}&action_id=again`, "invalid_request"],
    ["a repeated resource", () => `${form(whole())}&resource=t`, "invalid_request"],
    ["a broken percent escape", () => `${form(whole())}&x=%zz`, "invalid_request"],
    ["bytes that are not UTF-8", () => `${form(whole())}&x=%ff`, "invalid_request"],
    ["another grant type", () => form({ ...whole(), grant_type: "client_credentials" }), "unsupported_grant_type"],
    ["another token type", () => form({ ...whole(), subject_token_type: "urn:x" }), "invalid_request"],
    ["a token that is none", () => form(whole()), "invalid_request"],
    ["no subject token", () => form({ ...whole(), subject_token: "" }), "invalid_request"],
    ["an actor token without its type", () => form({ ...whole(), actor_token: "x" }), "invalid_request"],
    ["an unknown taint", () => form({ ...whole(), taint: "none" }), "invalid_request"],
    ["an audience beside the resource", () => form({ ...whole(), audience: "elsewhere" }), "invalid_target"],
  ])("%s", async (_case, body, error) => {
    const answer = await send(body());
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({
      error,
      error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/),
    });
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("parameters in the query are refused", async () => {
    expect((await send(form(whole()), {}, "?action_id=1")).body.error).toBe("invalid_request");
  });

  test.each(["application/json", "multipart/form-data; boundary=x", "text/plain"])(
    "a %s body is refused",
    async (type) => {
      const answer = await send("{}", { "content-type": type });
      expect([answer.status, answer.body.error]).toEqual([400, "invalid_request"]);
    },
  );
});
