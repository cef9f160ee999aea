import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { narrowed, rootClaims, signed } from "../../hop/test/support/tokens.ts";
import { AuthzClient, ControlPlaneRejected, ControlPlaneUnavailable } from "../src/index.ts";
import { consent, errorOf, fakeClient, fakeSession, post } from "./support/fake-client.ts";
import { json, type Route, refused, toolUrl } from "./support/fake-plane.ts";

/** Responses that are unusable for any request. */
const garbage: [string, Route, Partial<ControlPlaneUnavailable>][] = [
  ["200 with HTML", () => new Response("<html>sign in</html>", { status: 200 }), { fault: "malformed" }],
  ["200 with an empty body", () => new Response(null, { status: 200 }), { fault: "malformed" }],
  ["200 with truncated JSON", () => new Response('{"action_id": "01', { status: 200 }), { fault: "malformed" }],
  ["200 with another shape", () => json(200, { status: "ok" }), { fault: "malformed" }],
  ["204", () => new Response(null, { status: 204 }), { fault: "status", status: 204 }],
  [
    "a redirect",
    () => new Response(null, { status: 307, headers: { location: "https://evil.test/" } }),
    { fault: "status", status: 307 },
  ],
  ["404 with HTML", () => new Response("<html>", { status: 404 }), { fault: "status", status: 404 }],
  ["429", () => refused(429, "rate_limited"), { fault: "status", status: 429, code: "rate_limited" }],
  ["500", () => refused(500, "internal"), { fault: "status", status: 500, code: "internal" }],
  ["502 with HTML", () => new Response("<html>", { status: 502 }), { fault: "status", status: 502, code: null }],
  ["503", () => refused(503, "database_unavailable"), { fault: "status", status: 503, code: "database_unavailable" }],
  [
    "a connection that breaks",
    () => {
      throw new TypeError("fetch failed");
    },
    { fault: "unreachable", status: null, code: null },
  ],
  ["a body over the limit", () => new Response("x".repeat(9 * 1024 * 1024)), { fault: "too_large" }],
];

const stages = ["/v1/token/renew", "/v1/authorize", "/v1/token/exchange", "/v1/token/transaction"];

describe.each(stages)("%s", (path) => {
  test.each(garbage)("%s: unavailable, and the tool receives nothing", async (_, reply, want) => {
    const { svc, plane, session } = await fakeSession();
    plane.replies.set(`POST ${path}`, reply);
    const call = { ...post, params: { amount: 5 }, request: { url: toolUrl } };
    const error = await errorOf(svc.call(session.context(), call));
    expect(error).toBeInstanceOf(ControlPlaneUnavailable);
    expect(error).toMatchObject({ name: "ControlPlaneUnavailable", method: "POST", path, ...want });
    expect(plane.toolReceived).toEqual([]);
    for (const secret of [session.rootGrant, "admin-bearer"]) expect(String(error)).not.toContain(secret);
  });
});

describe("the control plane's Retry-After is in the error", () => {
  const inAnHour = () => new Date(Date.now() + 3_600_000).toUTCString();
  const headers: [status: number, code: string, retryAfter: string | undefined, (seconds: unknown) => boolean][] = [
    [429, "rate_limited", "59", (seconds) => seconds === 59],
    [503, "database_unavailable", "1", (seconds) => seconds === 1],
    [503, "database_unavailable", inAnHour(), (seconds) => Number(seconds) > 3_000 && Number(seconds) <= 3_600],
    [503, "database_unavailable", "Thu, 01 Jan 1970 00:00:00 GMT", (seconds) => seconds === 0],
    [503, "database_unavailable", "soon", (seconds) => seconds === null],
    [503, "database_unavailable", undefined, (seconds) => seconds === null],
  ];
  const paths = ["/v1/authorize", "/v1/token/exchange", "/v1/consent"];
  test.each(paths.flatMap((path) => headers.map((row) => [path, ...row] as const)))(
    "%s: %d %s with %s",
    async (path, status, code, retryAfter, isRight) => {
      const { svc, plane, session } = await fakeSession();
      plane.replies.set(`POST ${path}`, () => {
        const response = refused(status, code);
        if (retryAfter !== undefined) response.headers.set("retry-after", retryAfter);
        return response;
      });
      const error = await errorOf(
        path === "/v1/consent" ? svc.consent(consent) : svc.authorize(session.context(), { ...post, params: {} }),
      );
      expect(error).toBeInstanceOf(ControlPlaneUnavailable);
      expect((error as ControlPlaneUnavailable).retryAfterSeconds).toSatisfy(isRight);
    },
  );

  test("no response, no wait", async () => {
    const { svc, plane, session } = await fakeSession();
    plane.replies.set("POST /v1/authorize", () => {
      throw new TypeError("fetch failed");
    });
    expect(await errorOf(svc.authorize(session.context(), post))).toMatchObject({ retryAfterSeconds: null });
  });
});

test("an allow without a record is unavailable", async () => {
  const { svc, plane, session } = await fakeSession();
  plane.replies.set("POST /v1/authorize", () => refused(503, "audit_unavailable"));
  const error = await errorOf(svc.authorize(session.context(), post));
  expect(error).toMatchObject({ fault: "audit_unavailable", status: 503, code: "audit_unavailable" });
});

test.each<[string, object]>([
  ["another target", { target: "http:ledger/other" }],
  ["a wider data class", { dataClass: "finance" }],
  ["another action", { action: "0197a000-0000-7000-8000-ffffffffffff" }],
])("a token for %s is never used", async (_, odd) => {
  const { svc, plane, session } = await fakeSession();
  plane.replies.set("POST /v1/token/exchange", async ({ body }) => {
    const action = new URLSearchParams(body).get("action_id") ?? "";
    const { target, ...as } = { target: post.target, dataClass: post.dataClass, action, ...odd };
    return json(200, {
      access_token: await signed(narrowed(rootClaims(), target, { targetKind: "tool", ...as })),
      issued_token_type: "urn:ietf:params:oauth:token-type:jwt",
      token_type: "Bearer",
      expires_in: 60,
    });
  });
  const call = { ...post, params: { amount: 5 }, request: { url: toolUrl } };
  expect(await errorOf(svc.call(session.context(), call))).toMatchObject({ fault: "mismatch" });
  expect(plane.toolReceived).toEqual([]);
});

test("the context's own token, returned as the narrowed one, is never used", async () => {
  const { svc, plane, session } = await fakeSession();
  plane.replies.set("POST /v1/token/exchange", () =>
    json(200, {
      access_token: session.rootGrant,
      issued_token_type: "urn:ietf:params:oauth:token-type:jwt",
      token_type: "Bearer",
      expires_in: 60,
    }),
  );
  const error = await errorOf(svc.call(session.context(), { ...post, params: {}, request: { url: toolUrl } }));
  expect(error).toMatchObject({ fault: "mismatch" });
  expect(plane.toolReceived).toEqual([]);
});

describe("refusals of a hop's steps are rejections", () => {
  test.each<[string, string, Response, object]>([
    ["401 at the decision", "/v1/authorize", refused(401, "unauthorized"), { status: 401, code: "unauthorized" }],
    ["401 without a body", "/v1/authorize", new Response(null, { status: 401 }), { status: 401, code: "unauthorized" }],
    ["400 at the decision", "/v1/authorize", refused(400, "invalid_request"), { status: 400, code: "invalid_request" }],
    [
      "a proof that is missing",
      "/v1/token/exchange",
      json(400, { error: "invalid_request", error_description: "actor_token is missing" }),
      { status: 400, code: "invalid_request", message: "actor_token is missing" },
    ],
    [
      "a spent allow",
      "/v1/token/exchange",
      json(400, { error: "invalid_grant", error_description: "x" }),
      { status: 400, code: "invalid_grant" },
    ],
    [
      "a mint of params it cannot bind",
      "/v1/token/transaction",
      refused(422, "params_unbindable"),
      { status: 422, code: "params_unbindable" },
    ],
  ])("%s", async (_, path, reply, want) => {
    const { svc, plane, session } = await fakeSession();
    plane.replies.set(`POST ${path}`, () => reply);
    const error = await errorOf(svc.authorize(session.context(), { ...post, params: { amount: 5 } }));
    expect(error).toBeInstanceOf(ControlPlaneRejected);
    expect(error).toMatchObject({ method: "POST", path, ...want });
  });

  test("but an unreachable replay guard is an outage", async () => {
    const { svc, plane, session } = await fakeSession();
    plane.replies.set("POST /v1/token/exchange", () =>
      json(503, { error: "invalid_grant", error_description: "later" }),
    );
    const error = await errorOf(svc.authorize(session.context(), { ...post, params: { amount: 5 } }));
    expect(error).toBeInstanceOf(ControlPlaneUnavailable);
    expect(error).toMatchObject({ status: 503, code: "invalid_grant" });
  });
});

describe("consent", () => {
  test.each<[string, Route, object]>([
    ["404", () => refused(404, "scope_not_found"), { status: 404, code: "scope_not_found" }],
    ["409", () => refused(409, "policy_recompile_required"), { status: 409, code: "policy_recompile_required" }],
    ["400", () => refused(400, "invalid_request"), { status: 400, code: "invalid_request" }],
    ["200", () => json(200, {}), { status: 200, code: null }],
    ["201 with HTML", () => new Response("<html>", { status: 201 }), { fault: "malformed" }],
  ])("%s is unavailable, with status and code", async (_, reply, want) => {
    const { svc, plane } = fakeClient();
    plane.replies.set("POST /v1/consent", reply);
    const error = await errorOf(svc.consent(consent));
    expect(error).toBeInstanceOf(ControlPlaneUnavailable);
    expect(error).toMatchObject(want);
  });

  test("401 is a rejection", async () => {
    const { svc, plane } = fakeClient();
    plane.replies.set("POST /v1/consent", () => refused(401, "unauthorized"));
    expect(await errorOf(svc.consent(consent))).toBeInstanceOf(ControlPlaneRejected);
  });

  test("a session without a valid root grant is unavailable", async () => {
    const { svc, plane } = fakeClient();
    const answer = { session_id: "s", policy_version: 1, scope: "s", user_sub: "u", hop_budget: 1, expires_at: "t" };
    plane.replies.set("POST /v1/consent", () => json(201, { ...answer, root_grant: "nonsense" }));
    expect(await errorOf(svc.consent(consent))).toMatchObject({ fault: "malformed" });
  });
});

describe("time", () => {
  async function serving(listener: RequestListener): Promise<AuthzClient> {
    const server = createServer(listener).listen(0, "127.0.0.1");
    await once(server, "listening");
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const svc = new AuthzClient({ baseUrl, adminToken: "t", timeout: 0.2 });
    onTestFinished(async () => {
      await svc.close();
      server.closeAllConnections();
      server.close();
    });
    return svc;
  }

  test.each<[string, RequestListener]>([
    ["before its response", () => {}],
    ["during its response", (_, response) => void response.writeHead(200).write("{")],
  ])("a control plane that stalls %s is unavailable", async (_, listener) => {
    const svc = await serving(listener);
    for (const ask of [() => svc.ready(), () => svc.consent(consent), () => svc.audit.decisions()]) {
      expect(await errorOf(ask())).toMatchObject({ name: "ControlPlaneUnavailable", fault: "timeout" });
    }
  });

  test("a hop that stalls at any step is unavailable", async () => {
    for (const path of stages) {
      const { svc, plane, session } = await fakeSession({ timeout: 1 });
      plane.replies.set(`POST ${path}`, () => new Promise<never>(() => {}));
      const call = { ...post, params: { amount: 5 }, request: { url: toolUrl } };
      expect(await errorOf(svc.call(session.context(), call))).toMatchObject({ fault: "timeout", path });
      expect(plane.toolReceived).toEqual([]);
    }
  });

  test("an abort rejects with the signal's reason, at every step", async () => {
    const reason = new Error("the user left");
    for (const path of stages) {
      const { svc, plane, session } = await fakeSession();
      const aborting = new AbortController();
      plane.replies.set(`POST ${path}`, () => {
        aborting.abort(reason);
        return new Promise<never>(() => {});
      });
      const call = { ...post, params: { amount: 5 }, request: { url: toolUrl } };
      expect(await errorOf(svc.call(session.context(), call, { signal: aborting.signal }))).toBe(reason);
      expect(plane.toolReceived).toEqual([]);
    }
    const { svc, session } = await fakeSession();
    const asks = [
      () => svc.authorize(session.context(), post, { signal: AbortSignal.abort(reason) }),
      () => svc.ready({ signal: AbortSignal.abort(reason) }),
      () => svc.consent(consent, { signal: AbortSignal.abort(reason) }),
      () => svc.admin.agents({}, { signal: AbortSignal.abort(reason) }),
      () => svc.audit.allDecisions({}, { signal: AbortSignal.abort(reason) }).next(),
    ];
    for (const ask of asks) expect(await errorOf(ask())).toBe(reason);
  });
});

test("not ready and not live are unavailable", async () => {
  const { svc, plane } = fakeClient();
  await expect(svc.ready()).resolves.toEqual({ status: "ok" });
  await expect(svc.live()).resolves.toBeUndefined();
  plane.replies.set("GET /readyz", () => refused(503, "guard_unavailable"));
  expect(await errorOf(svc.ready())).toMatchObject({
    name: "ControlPlaneUnavailable",
    status: 503,
    code: "guard_unavailable",
  });
  plane.replies.set("GET /livez", () => new Response("", { status: 500 }));
  expect(await errorOf(svc.live())).toBeInstanceOf(ControlPlaneUnavailable);
});
