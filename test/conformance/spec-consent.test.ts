import { decodeJwt, decodeProtectedHeader } from "jose";
import { describe, expect, test } from "vitest";
import { ledgerForTests } from "./src/for-tests.ts";

const { api, scope, name } = await ledgerForTests();

const consent = (body: unknown) => api.call("POST", "/v1/consent", { bearer: api.tokens.admin, body });

describe("a consent", () => {
  test("creates a session: 201, every field, and a hop-1 token for the issuer alone", async () => {
    const { status, body } = await consent({ scope, user_sub: "ada", ttl_seconds: 600 });
    expect({ status, body }).toEqual({
      status: 201,
      body: {
        session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        root_grant: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
        policy_version: expect.any(Number),
        scope,
        user_sub: "ada",
        hop_budget: 4,
        expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    });
    const claims = decodeJwt(body.root_grant);
    expect(claims).toMatchObject({ sub: "ada", scope, hop: 1, aud: claims.iss, sid: body.session_id });
    expect(claims).not.toHaveProperty("act");
    expect(decodeProtectedHeader(body.root_grant).typ).toBe("at+jwt");
    expect(Number(claims.exp) * 1000).toBe(Date.parse(body.expires_at));
    expect([599, 600]).toContain((claims.exp ?? 0) - (claims.iat ?? 0));
  });

  test("to a scope without a compiled policy is 404", async () => {
    const answer = await consent({ scope: name("nowhere"), user_sub: "ada" });
    expect([answer.status, answer.body.error.code]).toEqual([404, "scope_not_found"]);
  });

  test("to a scope that its last agent dropped is 404", async () => {
    const [agent, dropped] = [name("agent"), name("dropped")];
    await api.attest(agent, { [dropped]: { hop_budget: 1 } });
    expect((await consent({ scope: dropped, user_sub: "ada" })).status).toBe(201);
    const manifest = { scopes: { [name("another")]: { hop_budget: 1 } } };
    await api.call("POST", "/v1/manifests", { bearer: api.tokens.admin, body: { agent, manifest, override: {} } });
    const answer = await consent({ scope: dropped, user_sub: "ada" });
    expect([answer.status, answer.body.error.code]).toEqual([404, "scope_not_found"]);
  });

  test("to another policy version than was shown is 409", async () => {
    const answer = await consent({ scope, user_sub: "ada", policy_version: 999 });
    expect([answer.status, answer.body.error.code]).toEqual([409, "policy_version_changed"]);
    const { current_version: current } = answer.body.details;
    expect((await consent({ scope, user_sub: "ada", policy_version: current })).status).toBe(201);
  });

  test("to a scope without an entry agent is 404", async () => {
    const inner = name("inner");
    await api.attest(name("agent"), { [inner]: { hop_budget: 1, entry: false } });
    const answer = await consent({ scope: inner, user_sub: "ada" });
    expect([answer.status, answer.body.error.code]).toEqual([404, "scope_not_found"]);
  });

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
  ])("for %j seconds is %i", async (ttl_seconds, status) => {
    expect((await consent({ scope, user_sub: "ada", ttl_seconds })).status).toBe(status);
  });

  test.each([
    ["no characters", 400, ""],
    ["one character", 201, "a"],
    ["255 characters", 201, "a".repeat(255)],
    ["256 characters", 400, "a".repeat(256)],
    ["255 characters outside the basic plane", 201, "😀".repeat(255)],
    ["256 characters outside the basic plane", 400, "😀".repeat(256)],
    ["a NUL", 400, "ada\0"],
    ["a line break", 400, "a\nb"],
    ["a number", 400, 1],
  ])("by a user_sub of %s is %i", async (_case, status, user_sub) => {
    expect((await consent({ scope, user_sub })).status).toBe(status);
  });

  test.each([
    ["no characters", 400, ""],
    ["256 characters", 400, "a".repeat(256)],
    ["255 undeclared characters outside the basic plane", 404, "😀".repeat(255)],
    ["a NUL", 400, "a\0b"],
    ["a quote and a statement", 404, "'; drop table session; --"],
    ["a wildcard", 404, "%"],
  ])("to a scope of %s is %i", async (_case, status, asked) => {
    expect((await consent({ scope: asked, user_sub: "ada" })).status).toBe(status);
  });

  test.each([[{ scope: "a" }], [{ user_sub: "a" }], [{ scope: "a", user_sub: "b", ttl: 60 }], [[]], [null], ["text"]])(
    "of %j is malformed",
    async (body) => {
      const answer = await consent(body);
      expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
    },
  );
});

test("a look-alike of a scope is another scope", async () => {
  const latin = name("a");
  const cyrillic = `а${latin.slice(1)}`;
  await api.attest(name("agent"), { [latin]: { hop_budget: 1 } });
  expect((await consent({ scope: cyrillic, user_sub: "ada" })).status).toBe(404);
  await api.attest(name("agent"), { [cyrillic]: { hop_budget: 2 } });
  expect((await consent({ scope: latin, user_sub: "ada" })).body).toMatchObject({ scope: latin, hop_budget: 1 });
  expect((await consent({ scope: cyrillic, user_sub: "ada" })).body).toMatchObject({ scope: cyrillic, hop_budget: 2 });
});

test("a scope of 255 characters outside the basic plane can be consented to and read by its encoded name", async () => {
  const run = name("s");
  const wide = run + "😀".repeat(255 - run.length);
  await api.attest(name("agent"), { [wide]: { hop_budget: 1 } });
  expect((await consent({ scope: wide, user_sub: "ada" })).status).toBe(201);
  const catalog = await api.call("GET", `/v1/scopes/${encodeURIComponent(wide)}/catalog`, { bearer: api.tokens.admin });
  expect(catalog.body.scope).toBe(wide);
});

test("a session pins its policy version for life", async () => {
  const [own, agent] = [name("moving"), name("agent")];
  const tool = { target: `http:${own}/read`, target_kind: "tool", data_class: "finance" } as const;
  await api.attest(agent, { [own]: { hop_budget: 2, tools: [{ ref: tool.target, data_classes: ["finance"] }] } });
  const before = await api.consent(own);
  const moved = await api.call("POST", "/v1/manifests", {
    bearer: api.tokens.admin,
    body: { agent, manifest: { scopes: { [own]: { hop_budget: 2 } } }, override: {} },
  });
  expect(moved.status).toBe(201);
  const after = await api.consent(own);
  expect(after.body.policy_version).toBe(before.body.policy_version + 1);
  const [pinned, current] = await Promise.all([
    api.authorize(before.session, before.token, tool),
    api.authorize(after.session, after.token, tool),
  ]);
  expect(pinned.body).toMatchObject({ decision: "allow", policy_version: before.body.policy_version });
  expect(current.body).toMatchObject({ decision: "deny", policy_version: after.body.policy_version });
});
