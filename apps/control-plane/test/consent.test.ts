import { aManifest, aTool } from "@svc/test-support";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { query, startPlane, tokens } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
beforeAll(async () => {
  plane = await startPlane({ SVC_CONSENT_TTL_SECONDS: "1800" });
  await register("planner", aManifest("expenses", { hop_budget: 4, tools: [aTool("mcp:ledger/read")] }));
});
afterAll(() => plane.stop());

const register = (name: string, manifest: object) =>
  plane.send("/v1/agents", { body: { name, manifest, override: {} } });
const resubmit = (agent: string, manifest: object) =>
  plane.send("/v1/manifests", { body: { agent, manifest, override: {} } });
const consent = (changes: object = {}) =>
  plane.send("/v1/consent", { body: { scope: "expenses", user_sub: "ada", ...changes } });
const secondsFromNow = (timestamp: unknown): number => (Date.parse(String(timestamp)) - Date.now()) / 1000;

test("a consent pins the current policy and answers the hop-1 token", async () => {
  const { status, json, headers } = await consent();
  expect(status).toBe(201);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(json).toEqual({
    session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    root_grant: expect.any(String),
    policy_version: 1,
    scope: "expenses",
    user_sub: "ada",
    hop_budget: 4,
    expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  });
  expect(secondsFromNow(json.expires_at)).toBeGreaterThan(1_700);
  expect(secondsFromNow(json.expires_at)).toBeLessThanOrEqual(1_800);
  const token = String(json.root_grant);
  expect(decodeProtectedHeader(token)).toMatchObject({ typ: "at+jwt", alg: "ES256" });
  expect(decodeJwt(token)).toMatchObject({
    iss: "https://plane.test",
    sub: "ada",
    aud: "https://plane.test",
    scope: "expenses",
    hop: 1,
    sid: json.session_id,
    policy_version: 1,
    exp: Math.floor(Date.parse(String(json.expires_at)) / 1000),
  });
});

test("a consent is recorded with the admin who gave it, and without its token", async () => {
  const { json } = await consent();
  const url = plane.database.appUrl;
  const id = String(json.session_id);
  const [session] = await query(
    url,
    "select user_sub, scope, policy_version, consented_by from session where session_id = $1",
    [id],
  );
  expect(session).toEqual({ user_sub: "ada", scope: "expenses", policy_version: 1, consented_by: "alice" });
  const events = await query(url, "select kind, actor, details from administrative_event where session_id = $1", [id]);
  expect(events).toEqual([
    { kind: "consent_granted", actor: "alice", details: { scope: "expenses", policy_version: 1 } },
  ]);
});

describe("ttl_seconds", () => {
  test.each([
    [59, 400],
    [60, 201],
    [86_400, 201],
    [86_401, 400],
    [60.5, 400],
    ["60", 400],
    [null, 400],
    [-60, 400],
    [1e300, 400],
  ])("%j is answered with %i", async (ttl, status) => {
    const answer = await consent({ ttl_seconds: ttl });
    expect(answer.status).toBe(status);
    if (status === 201) expect(secondsFromNow(answer.json.expires_at)).toBeGreaterThan(Number(ttl) - 10);
    else expect(answer.json.details?.issues?.[0 as never]).toMatchObject({ path: "ttl_seconds" });
  });
});

describe("user_sub and scope are 1 to 255 characters, not bytes or code units", () => {
  test.each([
    ["empty", "", 400],
    ["1 letter", "a", 201],
    ["255 letters", "a".repeat(255), 201],
    ["256 letters", "a".repeat(256), 400],
    ["255 emoji", "😀".repeat(255), 201],
    ["256 emoji", "😀".repeat(256), 400],
    ["NUL", "a\u0000b", 400],
    ["a line break", "a\nb", 400],
    ["a quote", "'; drop table session; --", 201],
  ])("user_sub: %s", async (_name, userSub, status) => {
    const answer = await consent({ user_sub: userSub });
    expect(answer.status).toBe(status);
    if (status === 201) expect(answer.json.user_sub).toBe(userSub);
  });

  test.each([
    ["empty", "", 400],
    ["255 emoji", "😀".repeat(255), 404],
    ["256 emoji", "😀".repeat(256), 400],
    ["NUL", "a\u0000", 400],
    ["a look-alike", "expenѕes", 404],
  ])("scope: %s", async (_name, scope, status) => {
    expect((await consent({ scope })).status).toBe(status);
  });
});

describe("a consent is refused", () => {
  test("for a scope that nothing was compiled for", async () => {
    expect(await consent({ scope: "unheard-of" })).toMatchObject({
      status: 404,
      json: { error: { code: "scope_not_found" } },
    });
  });

  test("for a scope under which nothing can be done any more", async () => {
    await register("leaver", aManifest("abandoned", { tools: [aTool("http:a/b")] }));
    expect((await consent({ scope: "abandoned" })).status).toBe(201);
    await resubmit("leaver", aManifest("elsewhere", { tools: [aTool("http:a/b")] }));
    expect(await consent({ scope: "abandoned" })).toMatchObject({
      status: 404,
      json: { error: { code: "scope_not_found" } },
    });
  });

  test("for a scope that no human may enter", async () => {
    await register("inner", aManifest("inner-only", { entry: false, tools: [aTool("http:a/c")] }));
    expect((await consent({ scope: "inner-only" })).status).toBe(404);
  });

  test("for a policy of an older schema, until a manifest of the scope is submitted again", async () => {
    await register("ager", aManifest("aged", { tools: [aTool("http:a/d")] }));
    await query(
      plane.database.ownerUrl,
      "insert into compiled_policy select scope, 2, 0, document, created_at from compiled_policy where scope = 'aged'",
    );
    expect(await consent({ scope: "aged" })).toMatchObject({
      status: 409,
      json: { error: { code: "policy_recompile_required" } },
    });
    await resubmit("ager", aManifest("aged", { tools: [aTool("http:a/d")] }));
    expect(await consent({ scope: "aged" })).toMatchObject({ status: 201, json: { policy_version: 3 } });
  });

  test("where the policy is no longer what the human was shown", async () => {
    await register("changer", aManifest("changed", { tools: [aTool("http:a/e")] }));
    expect((await consent({ scope: "changed", policy_version: 1 })).status).toBe(201);
    await resubmit("changer", aManifest("changed", { tools: [aTool("http:a/f")] }));
    expect(await consent({ scope: "changed", policy_version: 1 })).toMatchObject({
      status: 409,
      json: { error: { code: "policy_version_changed" }, details: { current_version: 2 } },
    });
    expect((await consent({ scope: "changed", policy_version: 3 })).status).toBe(409);
    expect(await consent({ scope: "changed", policy_version: 2 })).toMatchObject({ status: 201 });
  });

  test.each([
    {},
    { scope: "expenses" },
    { user_sub: "ada" },
    { scope: 1, user_sub: "ada" },
    { scope: "expenses", user_sub: "ada", extra: 1 },
  ])("with the body %j", async (body) => {
    const answer = await plane.send("/v1/consent", { token: tokens.admin, body });
    expect(answer).toMatchObject({ status: 400, json: { error: { code: "invalid_request" } } });
  });

  test("and leaves no session behind", async () => {
    const url = plane.database.appUrl;
    const [before] = await query<{ count: string }>(url, "select count(*)::text from session");
    await consent({ scope: "unheard-of" });
    await consent({ scope: "changed", policy_version: 1 });
    expect(await query(url, "select count(*)::text from session")).toEqual([before]);
  });
});

test("a session keeps the policy version it pinned while the scope moves on", async () => {
  await register("mover", aManifest("moving", { tools: [aTool("http:a/g")] }));
  const { json } = await consent({ scope: "moving" });
  await resubmit("mover", aManifest("moving", { tools: [aTool("http:a/h")] }));
  const session = await plane.deps.sessions.find(String(json.session_id));
  expect(session?.policyVersion).toBe(1);
  const pinned = await plane.deps.policies.pinned("moving", 1);
  expect(pinned?.policy.document.tools.map(({ ref }) => ref)).toEqual(["http:a/g"]);
});
