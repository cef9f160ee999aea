import { decodeJwt, decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./src/api.ts";
import { type Opened, openDeployment } from "./src/deployment.ts";
import { ledgerHops, registerLedger } from "./src/ledger.ts";

let opened: Opened;
let api: Api;
let scope: string;

beforeAll(async () => {
  opened = await openDeployment();
  ({ api } = opened);
  scope = opened.name("books");
  await registerLedger(api, scope);
}, 60_000);
afterAll(() => opened.close());

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
    expect(claims.exp).toBeLessThanOrEqual(Date.parse(body.expires_at) / 1000);
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBeGreaterThan(595);
  });

  test("to a scope without a compiled policy is 404", async () => {
    const answer = await consent({ scope: opened.name("nowhere"), user_sub: "ada" });
    expect([answer.status, answer.body.error.code]).toEqual([404, "scope_not_found"]);
  });

  test("to another policy than was shown is 409", async () => {
    const answer = await consent({ scope, user_sub: "ada", policy_version: 999 });
    expect([answer.status, answer.body.error.code]).toEqual([409, "policy_version_changed"]);
  });

  test.each([
    [59, 400],
    [60, 201],
    [86_400, 201],
    [86_401, 400],
    [60.5, 400],
    ["60", 400],
    [null, 400],
  ])("for %j seconds is %i", async (ttl_seconds, status) => {
    expect((await consent({ scope, user_sub: "ada", ttl_seconds })).status).toBe(status);
  });

  test.each([
    ["nobody", "", 400],
    ["one character", "a", 201],
    ["255 characters", "a".repeat(255), 201],
    ["256 characters", "a".repeat(256), 400],
    ["255 characters outside the basic plane", "😀".repeat(255), 201],
    ["256 characters outside the basic plane", "😀".repeat(256), 400],
    ["a NUL", "ada\0", 400],
    ["a number", 1, 400],
  ])("by a user_sub of %s is %i", async (_case, user_sub, status) => {
    expect((await consent({ scope, user_sub })).status).toBe(status);
  });

  test.each([
    ["no characters", "", 400],
    ["256 characters", "a".repeat(256), 400],
    ["255 characters outside the basic plane that nobody declares", "😀".repeat(255), 404],
    ["a NUL", "a\0b", 400],
    ["a quote and a statement", "'; drop table session; --", 404],
    ["a wildcard", "%", 404],
  ])("to a scope of %s is %i", async (_case, asked, status) => {
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
  const latin = opened.name("a");
  const cyrillic = `а${latin.slice(1)}`;
  await api.attest(opened.name("agent"), { [latin]: { hop_budget: 1 } });
  expect((await consent({ scope: cyrillic, user_sub: "ada" })).status).toBe(404);
  await api.attest(opened.name("agent"), { [cyrillic]: { hop_budget: 2 } });
  expect((await consent({ scope: latin, user_sub: "ada" })).body).toMatchObject({ scope: latin, hop_budget: 1 });
  expect((await consent({ scope: cyrillic, user_sub: "ada" })).body).toMatchObject({ scope: cyrillic, hop_budget: 2 });
});

test("a scope of 255 characters outside the basic plane can be consented to and read by its encoded name", async () => {
  const run = opened.name("s");
  const wide = run + "😀".repeat(255 - run.length);
  await api.attest(opened.name("agent"), { [wide]: { hop_budget: 1 } });
  expect((await consent({ scope: wide, user_sub: "ada" })).status).toBe(201);
  const catalog = await api.call("GET", `/v1/scopes/${encodeURIComponent(wide)}/catalog`, { bearer: api.tokens.admin });
  expect(catalog.body.scope).toBe(wide);
});

test("a session pins its policy version for life", async () => {
  const [own, agent] = [opened.name("moving"), opened.name("agent")];
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

test("a session that ended is refused from the next request on", async () => {
  const { session, token } = await api.consent(scope);
  const revoked = await api.call("POST", `/v1/sessions/${session}/revoke`, { bearer: api.tokens.admin });
  expect([revoked.status, revoked.body.status]).toEqual([200, "revoked"]);
  const answer = await api.authorize(session, token, ledgerHops(scope).planner);
  expect(answer.body).toMatchObject({ decision: "deny", deny_reason: "SESSION_REVOKED" });
});
