import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPlane, tokens } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.stop());

const unknownId = "01900000-0000-7000-8000-000000000000";

/** Every route with a plane, and who may call it. */
const planeRoutes = [
  ["POST", "/v1/agents", "admin"],
  ["GET", "/v1/agents", "admin"],
  ["GET", "/v1/agents/resolve?name=x", "admin"],
  ["GET", `/v1/agents/${unknownId}/reconciliation`, "admin"],
  ["POST", "/v1/manifests", "admin"],
  ["GET", "/v1/manifests/x", "admin"],
  ["GET", "/v1/scopes/x/catalog", "admin"],
  ["POST", "/v1/consent", "admin"],
  ["GET", "/v1/sessions", "audit"],
  ["GET", `/v1/sessions/${unknownId}`, "audit"],
  ["POST", `/v1/sessions/${unknownId}/revoke`, "admin"],
  ["POST", "/v1/sessions/revoke", "admin"],
  ["GET", "/v1/blocks", "audit"],
  ["PUT", "/v1/blocks/tool/x", "admin"],
  ["DELETE", "/v1/blocks/tool/x", "admin"],
  ["GET", "/v1/keys", "admin"],
  ["POST", "/v1/keys/rotate", "admin"],
  ["DELETE", "/v1/keys/x", "admin"],
  ["POST", "/v1/issuer-epoch", "admin"],
  ["GET", "/v1/audit/decisions", "audit"],
  ["GET", "/v1/decisions", "audit"],
  ["GET", `/v1/audit/actions/${unknownId}/chain`, "audit"],
] as const;

const hopRoutes = [
  ["POST", "/v1/authorize"],
  ["POST", "/v1/token/renew"],
  ["POST", "/v1/token/transaction"],
  ["GET", "/v1/session/targets"],
] as const;

const openRoutes = [
  "/livez",
  "/readyz",
  "/metrics",
  "/.well-known/jwks.json",
  "/.well-known/oauth-authorization-server",
  "/openapi.json",
  "/docs",
];

const bearers = { ...tokens, stranger: "x".repeat(40), nobody: "" };
const opens = {
  admin: ["admin"],
  audit: ["audit", "admin"],
} as const satisfies Record<string, readonly (keyof typeof tokens)[]>;

describe.each(planeRoutes)("%s %s", (method, path, access) => {
  test.each(Object.entries(bearers))("with the bearer of %s", async (name, token) => {
    const answer = await plane.send(path, { method, token, ...(method === "POST" && { body: {} }) });
    const isAdmitted = opens[access].some((opening) => opening === name);
    if (isAdmitted) expect(answer.status).not.toBe(401);
    else {
      expect(answer).toMatchObject({ status: 401, json: { error: { code: "unauthorized" } } });
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      expect(answer.headers.get("cache-control")).toBe("no-store");
    }
  });
});

describe.each(hopRoutes)("%s %s takes no plane's bearer", (method, path) => {
  const body = { session_id: unknownId, target: "x", target_kind: "tool", data_class: "x", action_id: "x", params: {} };
  const bodies: Record<string, unknown> = {
    "/v1/authorize": { ...body, action_id: undefined, params: undefined },
    "/v1/token/renew": { count: 1 },
    "/v1/token/transaction": { action_id: "x", params: {} },
  };
  test.each(Object.entries(bearers))("%s", async (_name, token) => {
    const answer = await plane.send(path, { method, token, body: bodies[path] });
    expect(answer).toMatchObject({ status: 401, json: { error: { code: "unauthorized" } } });
  });
});

test.each(openRoutes)("%s needs no bearer, and a wrong one does no harm", async (path) => {
  for (const token of Object.values(bearers)) expect((await plane.send(path, { token })).status).toBe(200);
});

test("a request is refused for its bearer before anything of it is read", async () => {
  const answer = await plane.send("/v1/agents?unknown=1", { token: "", body: "not json" });
  expect(answer.status).toBe(401);
});
