import { describe, expect, test } from "vitest";
import { has } from "./src/deployment.ts";
import { deploymentForTests } from "./src/for-tests.ts";
import { overTheWire } from "./src/wire.ts";

const { api } = await deploymentForTests();

const unknownId = "01900000-0000-7000-8000-000000000000";
const planes = ["admin", "audit", "identity", "enforcement"] as const;
type Plane = (typeof planes)[number];
type Access = Plane | "identity or enforcement";

/** A plane's own bearer and those that it falls back to (docs/reference/routes.md#planes-and-bearers). */
const opens: Readonly<Record<Access, readonly string[]>> = {
  admin: ["admin"],
  audit: ["audit", "admin"],
  identity: ["identity", "audit", "admin"],
  enforcement: ["enforcement"],
  "identity or enforcement": ["identity", "audit", "admin", "enforcement"],
};

/** Every route with a plane. The requests are malformed or unknown, so that an accepted one changes nothing. */
const routes: readonly (readonly [method: string, path: string, plane: Access])[] = [
  ["POST", "/v1/agents", "admin"],
  ["GET", "/v1/agents", "admin"],
  ["GET", "/v1/agents/resolve?name=nobody-at-all", "admin"],
  ["GET", `/v1/agents/${unknownId}/reconciliation`, "admin"],
  ["POST", `/v1/agents/${unknownId}/revoke`, "admin"],
  ["POST", "/v1/manifests", "admin"],
  ["POST", "/v1/manifests/preview", "admin"],
  ["GET", "/v1/manifests/nowhere-at-all", "admin"],
  ["GET", "/v1/scopes/nowhere-at-all/catalog", "admin"],
  ["POST", "/v1/consent", "admin"],
  ["POST", `/v1/sessions/${unknownId}/revoke`, "admin"],
  ["POST", "/v1/sessions/revoke", "admin"],
  ["POST", `/v1/sign-ins/${unknownId}/end`, "admin"],
  ["POST", "/v1/sign-ins/end", "admin"],
  ["POST", "/v1/sinks/syslog/replay", "admin"],
  ["PUT", "/v1/blocks/tool/x", "admin"],
  ["DELETE", "/v1/blocks/tool/nobodys", "admin"],
  ["GET", "/v1/keys", "admin"],
  ["POST", "/v1/keys/rotate", "admin"],
  ["DELETE", "/v1/keys/nobodys", "admin"],
  ["POST", "/v1/issuer-epoch", "admin"],
  ["POST", "/v1/identity/enroll-tokens", "admin"],
  ["POST", "/v1/identity/enrollments", "admin"],
  ["GET", "/v1/sessions", "audit"],
  ["GET", `/v1/sessions/${unknownId}`, "audit"],
  ["GET", "/v1/sign-ins", "audit"],
  ["GET", "/v1/sinks", "audit"],
  ["GET", "/v1/blocks", "audit"],
  ["GET", "/v1/audit/decisions", "audit"],
  ["GET", "/v1/decisions", "audit"],
  ["GET", "/v1/audit/verdicts?agent=nobody-at-all&target=http:x", "audit"],
  ["GET", "/v1/scopes", "audit"],
  ["GET", "/v1/audit/events", "audit"],
  ["GET", "/v1/audit/would-block", "audit"],
  ["POST", "/v1/audit/replay", "audit"],
  ["GET", `/v1/audit/actions/${unknownId}/chain`, "audit"],
  ["GET", `/v1/audit/actions/${unknownId}/explanation`, "audit"],
  ["GET", "/v1/identity/agents/nobody-at-all", "identity"],
  ["GET", `/v1/identity/agents/by-id/${unknownId}`, "identity"],
  ["GET", "/v1/identity/revocations", "identity"],
  ["GET", "/v1/identity/revocations/stream", "identity or enforcement"],
  ["POST", "/v1/handles/redeem", "enforcement"],
  ["POST", "/v1/session/consents", "enforcement"],
];

const send = (method: string, path: string, bearer: string | undefined) =>
  api.call(method, path, {
    ...(bearer !== undefined && { bearer }),
    ...(method !== "GET" && method !== "DELETE" && { body: { no_such_member: true } }),
  });

const expectUnauthorized = ({ status, body, headers }: Awaited<ReturnType<typeof send>>) => {
  expect({ status, code: body.error.code }).toEqual({ status: 401, code: "unauthorized" });
  expect(headers.get("www-authenticate")).toBe("Bearer");
  expect(headers.get("cache-control")).toBe("no-store");
};

describe.each(routes)("%s %s", (method, path, plane) => {
  test.each([
    ["no bearer", undefined],
    ["an empty bearer", ""],
    ["a stranger's bearer", "x".repeat(40)],
  ])("refuses %s", async (_case, bearer) => {
    expectUnauthorized(await send(method, path, bearer));
  });

  const takes = (bearer: Plane) => opens[plane].includes(bearer);
  const held = async (bearer: Plane) => {
    const answer = await send(method, path, api.tokens[bearer]);
    // 400: a body that is read. 409: a configured issuer key is not removed.
    if (takes(bearer)) expect([200, 204, 400, 404, 409]).toContain(answer.status);
    else expectUnauthorized(answer);
  };

  test(`${takes("admin") ? "accepts" : "refuses"} the admin's bearer`, () => held("admin"));

  test.skipIf(!has.auditToken)(
    `${takes("audit") ? "accepts" : "refuses"} the audit reader's (needs an audit token)`,
    () => held("audit"),
  );

  test.skipIf(!has.identityToken)(
    `${takes("identity") ? "accepts" : "refuses"} the identity reader's (needs an identity token)`,
    () => held("identity"),
  );

  test.skipIf(!has.enforcementToken)(
    `${takes("enforcement") ? "accepts" : "refuses"} the enforcement point's (needs an enforcement token)`,
    () => held("enforcement"),
  );
});

const unknown = "01a00000-0000-7000-8000-000000000000";

describe.each([
  ["POST", "/v1/authorize", { session_id: unknown, target: "t", target_kind: "tool", data_class: "c" }],
  ["POST", "/v1/token/renew", { count: 1 }],
  ["POST", "/v1/token/transaction", { action_id: unknown, params: {} }],
  ["GET", "/v1/session/targets", undefined],
])("%s %s accepts a hop token alone", (method, path, body) => {
  test.each([...planes, "stranger", undefined])("and refuses the bearer of %s", async (bearer) => {
    const tokens: Record<string, string> = { ...api.tokens, stranger: "x".repeat(40) };
    const token = bearer && tokens[bearer];
    const answer = await api.call(method, path, { ...(token && { bearer: token }), ...(body && { body }) });
    expectUnauthorized(answer);
  });
});

describe("a route without a bearer", () => {
  test.each([
    "/livez",
    "/readyz",
    "/metrics",
    "/.well-known/jwks.json",
    "/.well-known/oauth-authorization-server",
    "/openapi.json",
    "/docs",
  ])("%s", async (path) => {
    expect((await api.call("GET", path)).status).toBe(200);
    expect((await api.call("GET", path, { bearer: "a wrong one" })).status).toBe(200);
  });

  test("the key set holds public keys alone, each named by its kid", async () => {
    const { body } = await api.call("GET", "/.well-known/jwks.json");
    expect(body.keys.length).toBeGreaterThan(0);
    for (const key of body.keys) {
      expect(key).toMatchObject({ kty: "EC", crv: "P-256", kid: expect.stringMatching(/^[\w-]{43}$/) });
      for (const secret of ["d", "k", "p", "q"]) expect(key).not.toHaveProperty(secret);
    }
  });

  test("the metadata leads stock clients to the token endpoint and the keys", async () => {
    const { body } = await api.call("GET", "/.well-known/oauth-authorization-server");
    expect(body).toMatchObject({
      token_endpoint: `${body.issuer}/v1/token/exchange`,
      jwks_uri: `${body.issuer}/.well-known/jwks.json`,
      grant_types_supported: ["urn:ietf:params:oauth:grant-type:token-exchange"],
    });
  });
});

describe("an Authorization header that is not exactly one bearer is 401", () => {
  test.each<[string, () => string]>([
    ["trailing text", () => `Bearer ${api.tokens.admin} junk`],
    ["two tokens", () => `Bearer ${api.tokens.admin}, Bearer ${api.tokens.admin}`],
    ["another scheme", () => `Basic ${btoa(`admin:${api.tokens.admin}`)}`],
    ["no scheme", () => api.tokens.admin],
    ["a cut token", () => `Bearer ${api.tokens.admin.slice(0, -1)}`],
    ["a longer token", () => `Bearer ${api.tokens.admin}0`],
    ["8 kB", () => `Bearer ${"a".repeat(8192)}`],
    ["no token", () => "Bearer "],
    ["quotes", () => `Bearer "${api.tokens.admin}"`],
  ])("%s", async (_case, authorization) => {
    const { status, text } = await overTheWire(api.url, "/v1/agents", { headers: ["authorization", authorization()] });
    expect({ status, code: JSON.parse(text).error.code }).toEqual({ status: 401, code: "unauthorized" });
    expect(text).not.toContain(api.tokens.admin.slice(0, 20));
  });

  test("two headers, of which either is valid", async () => {
    const right = ["authorization", `Bearer ${api.tokens.admin}`];
    const wrong = ["authorization", `Bearer ${"x".repeat(40)}`];
    for (const headers of [
      [...right, ...wrong],
      [...wrong, ...right],
      [...right, ...right],
    ]) {
      expect((await overTheWire(api.url, "/v1/agents", { headers })).status).toBe(401);
    }
  });
});

describe("a path is decoded once", () => {
  test.each([
    ["/v1/nothing", 404, "route_not_found"],
    ["/agents", 404, "route_not_found"],
    ["/v2/agents", 404, "route_not_found"],
    ["/V1/agents", 404, "route_not_found"],
    ["/v1/agents/", 404, "route_not_found"],
    ["/v1//agents", 404, "route_not_found"],
    ["/v1/manifests/a/b", 404, "route_not_found"],
    ["/v1/manifests/%2e%2e", 404, "route_not_found"],
    ["/v1/manifests/%2E", 404, "route_not_found"],
    ["/v1/manifests/%2e%2e%2fagents", 404, "scope_not_found"],
    ["/v1/manifests/nowhere%2Fat%2Fall", 404, "scope_not_found"],
    ["/v1/manifests/%27%3B%20drop%20table%20session", 404, "scope_not_found"],
    ["/v1/manifests/%25", 404, "scope_not_found"],
    ["/v1/manifests/_", 404, "scope_not_found"],
    ["/v1/manifests/a%00b", 400, "invalid_request"],
    ["/v1/manifests/a%0ab", 400, "invalid_request"],
    ["/v1/manifests/a%7fb", 400, "invalid_request"],
    ["/v1/manifests/%", 400, "invalid_request"],
    ["/v1/manifests/%c0%ae", 400, "invalid_request"],
    ["/v1/manifests/%ff", 400, "invalid_request"],
    ["/v1/manifests/%zz", 400, "invalid_request"],
  ])("%s is %i %s", async (path, status, code) => {
    const answer = await overTheWire(api.url, path, { headers: ["authorization", `Bearer ${api.tokens.admin}`] });
    expect({ status: answer.status, code: JSON.parse(answer.text).error.code }).toEqual({ status, code });
  });

  test.each([
    ["PUT", "/v1/agents", "POST, GET, HEAD"],
    ["GET", "/v1/consent", "POST"],
    ["DELETE", "/v1/audit/decisions", "GET, HEAD"],
    ["PATCH", "/v1/manifests/x", "GET, HEAD"],
    ["POST", "/v1/agents/resolve", "GET, HEAD"],
    ["OPTIONS", "/livez", "GET, HEAD"],
  ])("%s %s is 405 and names the allowed methods", async (method, path, allow) => {
    const answer = await api.call(method, path, { bearer: api.tokens.admin });
    expect([answer.status, answer.body.error.code]).toEqual([405, "method_not_allowed"]);
    expect(answer.headers.get("allow")).toBe(allow);
  });

  test("HEAD is served like GET, without a body", async () => {
    const { status, text } = await api.call("HEAD", "/livez");
    expect({ status, text }).toEqual({ status: 200, text: "" });
  });
});

describe("a JSON body is read strictly", () => {
  type Body = NonNullable<RequestInit["body"]>;
  const post = (body: Body, type = "application/json") =>
    api.call("POST", "/v1/consent", { bearer: api.tokens.admin, raw: { body, headers: { "content-type": type } } });

  test.each<[string, Body, string, number, string]>([
    ["no JSON", "{", "application/json", 400, "invalid_request"],
    ["trailing text", '{"scope":"a","user_sub":"b"}x', "application/json", 400, "invalid_request"],
    ["bytes that are not UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "application/json", 400, "invalid_request"],
    ["a form", "scope=a&user_sub=b", "application/x-www-form-urlencoded", 415, "unsupported_media_type"],
    ["more than a mebibyte", `{"scope":"${"a".repeat(1_048_576)}"}`, "application/json", 413, "payload_too_large"],
  ])("%s", async (_case, body, type, status, code) => {
    const answer = await post(body, type);
    expect([answer.status, answer.body.error]).toEqual([status, { code, message: expect.any(String) }]);
  });
});

describe("the limit of a page", () => {
  const get = (path: string) => api.call("GET", path, { bearer: api.tokens.admin });

  test.each(["0", "-1", "201", "1000000000", "1.5", "x", "", "1e1", "+1", "1&limit=1"])(
    "%j is refused",
    async (limit) => {
      for (const path of ["/v1/agents", "/v1/audit/decisions", "/v1/decisions"]) {
        const { status, body } = await get(`${path}?limit=${limit}`);
        expect([status, body.error.code]).toEqual([400, "invalid_request"]);
      }
    },
  );

  test.each([
    ["1", 1],
    ["200", 200],
    ["%31", 1],
  ])("%j is accepted", async (limit, want) => {
    expect((await get(`/v1/agents?limit=${limit}`)).body.page.limit).toBe(want);
  });
});
