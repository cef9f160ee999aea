import { afterAll, beforeAll, expect, test } from "vitest";
import { type PeopleStack, startPeopleStack } from "../src/people-stack.ts";

/** Two processes of one issuer. */
let stack: PeopleStack;
beforeAll(async () => {
  stack = await startPeopleStack();
});
afterAll(() => stack.stop());

type Process = PeopleStack["api"];
const visit = ({ url }: Pick<Process, "url">, path: string, cookie = "", init: RequestInit = {}) =>
  fetch(`${url}${path}`, { redirect: "manual", ...init, headers: { cookie, ...init.headers } });
const cookieIn = (response: Response, name: string): string =>
  response.headers
    .getSetCookie()
    .find((set) => set.startsWith(name))
    ?.split(";")[0] ?? "";

/** Begins at one process, and returns from the provider to the other. */
async function signIn(at: Process = stack.api, back: Process = stack.otherApi): Promise<string> {
  const begun = await visit(at, "/sign-in?next=/console");
  const { pathname, search } = await stack.provider.logIn(new URL(begun.headers.get("location") ?? ""), "ada");
  const ended = await visit(back, `${pathname}${search}`, cookieIn(begun, "svc-attempt-"));
  expect([ended.status, ended.headers.get("location")]).toEqual([303, "/console"]);
  return cookieIn(ended, "svc-person=");
}

const consoleStatuses = async (cookie: string): Promise<readonly number[]> => {
  const seen = await Promise.all([stack.api, stack.otherApi].map((at) => visit(at, "/console", cookie)));
  return seen.map(({ status }) => status);
};

test("a sign-in that begins at one process ends at the other, and holds at both", async () => {
  const cookie = await signIn();
  expect(await consoleStatuses(cookie)).toEqual([200, 200]);
});

test("a sign-in that an administrator ends at one process opens nothing at either, from the next request on", async () => {
  const [cookie, kept] = [await signIn(), await signIn(stack.otherApi, stack.api)];
  const { body } = await stack.api.call("GET", "/v1/sign-ins?user_sub=ada", { bearer: stack.api.tokens.audit });
  const [newest, before] = body.data as { sign_in_id: string; status: string; roles: string[] }[];
  expect(newest).toMatchObject({ status: "active", roles: ["audit"], name: "Ada Lovelace" });
  const ended = await stack.api.call("POST", `/v1/sign-ins/${before?.sign_in_id}/end`, {
    bearer: stack.api.tokens.admin,
    body: { reason: "a lost laptop" },
  });
  expect(ended.body).toMatchObject({ status: "ended", ended_by: "admin" });
  expect(await consoleStatuses(cookie)).toEqual([303, 303]);
  expect(await consoleStatuses(kept)).toEqual([200, 200]);
});

test("all sign-ins of a person that are ended at one process open nothing at either", async () => {
  const cookies = [await signIn(), await signIn()];
  const { body } = await stack.otherApi.call("POST", "/v1/sign-ins/end", {
    bearer: stack.otherApi.tokens.admin,
    body: { user_sub: "ada" },
  });
  expect(body.ended).toBeGreaterThanOrEqual(2);
  for (const cookie of cookies) expect(await consoleStatuses(cookie)).toEqual([303, 303]);
});

test("signing out at one process holds at the other, and is on record", async () => {
  const cookie = await signIn();
  const left = await visit(stack.api, "/sign-out", cookie, {
    method: "POST",
    headers: { "sec-fetch-site": "same-origin" },
  });
  expect(left.status).toBe(303);
  expect(await consoleStatuses(cookie)).toEqual([303, 303]);
  const [event] = await stack.events("sign_in_ended");
  expect(event).toMatchObject({ actor: "ada", reason: "signed out", details: { user_sub: "ada" } });
});
