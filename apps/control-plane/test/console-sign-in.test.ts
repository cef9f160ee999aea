import { afterAll, beforeAll, expect, test } from "vitest";
import { createBearers, holdersOf } from "../src/http/bearers.ts";
import { visitor } from "./console-support.ts";
import { startPlane, tokens } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.stop());

test.each([
  ["audit", 303],
  ["admin", 303],
  ["identity", 401],
] as const)("signing in with the token of the %s plane is %i", async (kind, status) => {
  expect((await visitor(plane.deps).signIn(tokens[kind])).status).toBe(status);
});

test("the console's cookie is not accepted as a bearer, nor a bearer as the cookie", async () => {
  const { ask, cookieOf } = visitor(plane.deps);
  const cookie = await cookieOf();
  const value = cookie.split("=")[1] ?? "";
  expect((await ask("/v1/audit/decisions", { headers: { cookie } })).status).toBe(401);
  expect((await ask("/v1/audit/decisions", { headers: { authorization: `Bearer ${value}` } })).status).toBe(401);
  expect((await ask("/console", { headers: { authorization: `Bearer ${tokens.audit}` } })).status).toBe(303);
  expect((await ask("/console", { headers: { cookie: `svc-console=${tokens.audit}` } })).status).toBe(303);
});

test("a sign-in expires once its token leaves the settings", async () => {
  const cookie = await visitor(plane.deps).cookieOf();
  const rotated = {
    admin: [],
    audit: [{ label: "audit", token: "y".repeat(40) }],
    identity: [],
    enforcement: [],
    signals: [],
  };
  const { console: settings } = plane.deps;
  const after = {
    ...plane.deps,
    bearers: createBearers(rotated),
    console: { ...settings, holders: holdersOf(rotated, "audit") },
  };
  expect((await visitor(after).ask("/console", { headers: { cookie } })).status).toBe(303);
});

test("a page over the token's rate limit is 429 with Retry-After", async () => {
  const waits = [0, 7];
  const limits = { ...plane.deps.limits, bearer: async () => waits.shift() ?? 0 };
  const refused = await visitor({ ...plane.deps, limits }).look("/console/agents");
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("7");
});

test("a form that repeats a field is rejected", async () => {
  const { ask } = visitor(plane.deps);
  const refused = await ask("/console/sign-in", {
    method: "POST",
    body: "token=a&token=b",
    headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" },
  });
  expect(refused.status).toBe(400);
});
