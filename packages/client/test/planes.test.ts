import { describe, expect, test } from "vitest";
import { type AuthzClient, ControlPlaneRejected, ControlPlaneUnavailable, ManifestRejected } from "../src/index.ts";
import { errorOf, fakeClient } from "./support/fake-client.ts";
import { bearerOf, type FakePlane, json, refused } from "./support/fake-plane.ts";

const manifest = { scopes: { expenses: { hop_budget: 4 } } };
const t = "2026-01-01T00:00:00.000Z";
const hopRow = {
  hop: 1,
  action_id: "a",
  acting_agent: "ada",
  target: "planner",
  target_kind: "agent",
  data_class: "finance",
  decision: "allow",
  deny_reason: null,
  enforced: true,
  ts: t,
};
const hop = {
  hop: 1,
  actionId: "a",
  actingAgent: "ada",
  target: "planner",
  targetKind: "agent",
  dataClass: "finance",
  decision: "allow",
  denyReason: null,
  enforced: true,
  ts: t,
};
const row = {
  ...hopRow,
  session_id: "s",
  stage: "authorize",
  recoverable: false,
  privileged: true,
  taint: "trusted_internal",
  taint_source: null,
  policy_version: 1,
  guarantee_level: "full",
  parent_action_id: null,
  spent_at: t,
  params_hash: "h",
};
const identity = {
  agent_id: "id",
  agent: "planner",
  status: "revoked",
  anchor_version: 2,
  jwks: { keys: [{ kty: "EC" }] },
  revoked: true,
  revoked_reason: "gone",
  as_of: t,
};
const identityRead = {
  agentId: "id",
  agent: "planner",
  status: "revoked",
  anchorVersion: 2,
  jwks: { keys: [{ kty: "EC" }] },
  revoked: true,
  revokedReason: "gone",
  asOf: t,
};
const lastPage = { next_cursor: null, limit: 50 };
const registration = { agent_id: "id", manifest_version: 2, status: "attested" };

interface Row {
  readonly name: string;
  readonly ask: (svc: AuthzClient) => Promise<unknown>;
  readonly route: string;
  readonly query?: Record<string, string>;
  readonly body?: object;
  readonly bearer: string;
  readonly answer: [status: number, body: unknown];
  readonly want: unknown;
}

const rows: Row[] = [
  {
    name: "registerAgent",
    ask: (svc) => svc.admin.registerAgent({ name: "planner", manifest }),
    route: "POST /v1/agents",
    body: { name: "planner", manifest },
    bearer: "admin-bearer",
    answer: [201, registration],
    want: { agentId: "id", manifestVersion: 2, status: "attested" },
  },
  {
    name: "submitManifest, overriding",
    ask: (svc) => svc.admin.submitManifest({ agent: "planner", manifest, overrideReason: "seen it" }),
    route: "POST /v1/manifests",
    body: { agent: "planner", manifest, override: { reason: "seen it" } },
    bearer: "admin-bearer",
    answer: [201, registration],
    want: { agentId: "id", manifestVersion: 2, status: "attested" },
  },
  {
    name: "manifest, of a scope that needs encoding",
    ask: (svc) => svc.admin.manifest("a/b %2e?é", { version: 2, agent: "planner" }),
    route: "GET /v1/manifests/a%2Fb%20%252e%3F%C3%A9",
    query: { version: "2", agent: "planner" },
    bearer: "admin-bearer",
    answer: [
      200,
      { agent: "planner", version: 2, status: "attested", attested_by: "human:x", doc: { a_b: 1 }, created_at: t },
    ],
    want: { agent: "planner", version: 2, status: "attested", attestedBy: "human:x", doc: { a_b: 1 }, createdAt: t },
  },
  {
    name: "agents",
    ask: (svc) => svc.admin.agents({ limit: 2, cursor: "c+/=", status: "reconciled" }),
    route: "GET /v1/agents",
    query: { limit: "2", cursor: "c+/=", status: "reconciled" },
    bearer: "admin-bearer",
    answer: [
      200,
      {
        data: [{ id: "id", name: "planner", latest_manifest_version: 1, latest_status: "reconciled" }],
        page: { next_cursor: "n", limit: 2 },
      },
    ],
    want: {
      data: [{ id: "id", name: "planner", latestManifestVersion: 1, latestStatus: "reconciled" }],
      page: { nextCursor: "n", limit: 2 },
    },
  },
  {
    name: "agentId",
    ask: (svc) => svc.admin.agentId("planner"),
    route: "GET /v1/agents/resolve",
    query: { name: "planner" },
    bearer: "admin-bearer",
    answer: [200, { agent_id: "id", name: "planner" }],
    want: "id",
  },
  {
    name: "reconciliation",
    ask: (svc) => svc.admin.reconciliation("id"),
    route: "GET /v1/agents/id/reconciliation",
    bearer: "admin-bearer",
    answer: [
      200,
      {
        manifest_version: 1,
        status: "attested",
        discovery_ok: false,
        diff: [{ ref: "r", kind: "undiscovered", field: "tools", declared: null, discovered: null, remedy: "m" }],
        attestation: { by: "human:x", reason: null },
        checked_at: t,
      },
    ],
    want: {
      manifestVersion: 1,
      status: "attested",
      discoveryOk: false,
      diff: [{ ref: "r", kind: "undiscovered", field: "tools", declared: null, discovered: null, remedy: "m" }],
      attestation: { by: "human:x", reason: null },
      checkedAt: t,
    },
  },
  {
    name: "scopeCatalog",
    ask: (svc) => svc.admin.scopeCatalog("expenses", { version: 3 }),
    route: "GET /v1/scopes/expenses/catalog",
    query: { version: "3" },
    bearer: "admin-bearer",
    answer: [
      200,
      {
        scope: "expenses",
        version: 3,
        tools: [{ ref: "r", data_classes: ["finance"], privileged: true }],
        data_classes: { reads: ["finance"], writes: [] },
        downstream_agents: ["clerk"],
        hop_budget: 4,
      },
    ],
    want: {
      scope: "expenses",
      version: 3,
      tools: [{ ref: "r", dataClasses: ["finance"], privileged: true }],
      dataClasses: { reads: ["finance"], writes: [] },
      downstreamAgents: ["clerk"],
      hopBudget: 4,
    },
  },
  {
    name: "chain",
    ask: (svc) => svc.audit.chain("a"),
    route: "GET /v1/audit/actions/a/chain",
    bearer: "audit-bearer",
    answer: [
      200,
      {
        root: { user_sub: "ada", scope: "expenses", consented_at: t, session_id: "s" },
        hops: [hopRow],
        complete: false,
        break: { at_hop: 2, reason: "PARENT_NOT_FOUND" },
      },
    ],
    want: {
      root: { userSub: "ada", scope: "expenses", consentedAt: t, sessionId: "s" },
      hops: [hop],
      complete: false,
      break: { atHop: 2, reason: "PARENT_NOT_FOUND" },
    },
  },
  {
    name: "decisions, by every filter",
    ask: (svc) =>
      svc.audit.decisions({
        limit: 5,
        cursor: "c",
        sessionId: "s",
        agent: "planner",
        outcome: "deny",
        denyReason: "TAINT_BLOCKED",
        enforced: false,
        targetKind: "tool",
        since: new Date(t),
        until: "2026-02-01T00:00:00+01:00",
        taint: "untrusted_external",
        privileged: true,
      }),
    route: "GET /v1/audit/decisions",
    query: {
      limit: "5",
      cursor: "c",
      session_id: "s",
      agent: "planner",
      outcome: "deny",
      deny_reason: "TAINT_BLOCKED",
      enforced: "false",
      target_kind: "tool",
      since: t,
      until: "2026-02-01T00:00:00+01:00",
      taint: "untrusted_external",
      privileged: "true",
    },
    bearer: "audit-bearer",
    answer: [200, { data: [row], page: lastPage }],
    want: {
      data: [
        {
          ...hop,
          sessionId: "s",
          stage: "authorize",
          recoverable: false,
          privileged: true,
          taint: "trusted_internal",
          taintSource: null,
          policyVersion: 1,
          guaranteeLevel: "full",
          parentActionId: null,
          spentAt: t,
          paramsHash: "h",
        },
      ],
      page: { nextCursor: null, limit: 50 },
    },
  },
  {
    name: "identity of a name",
    ask: (svc) => svc.identity.of("planner"),
    route: "GET /v1/identity/agents/planner",
    bearer: "identity-bearer",
    answer: [200, identity],
    want: identityRead,
  },
  {
    name: "identity by id",
    ask: (svc) => svc.identity.byId("id"),
    route: "GET /v1/identity/agents/by-id/id",
    bearer: "identity-bearer",
    answer: [200, identity],
    want: identityRead,
  },
  {
    name: "revocations",
    ask: (svc) => svc.identity.revocations({ since: t, limit: 1, cursor: "c" }),
    route: "GET /v1/identity/revocations",
    query: { since: t, limit: "1", cursor: "c" },
    bearer: "identity-bearer",
    answer: [200, { data: [{ agent_id: "id", agent: "planner", as_of: t }], page: lastPage, as_of: t }],
    want: { data: [{ agentId: "id", agent: "planner", asOf: t }], page: { nextCursor: null, limit: 50 }, asOf: t },
  },
  {
    name: "revoke",
    ask: (svc) => svc.identity.revoke("id", { reason: "gone" }),
    route: "POST /v1/agents/id/revoke",
    body: { reason: "gone" },
    bearer: "admin-bearer",
    answer: [200, identity],
    want: identityRead,
  },
];

const asking = ({ route, answer: [status, body] }: Row): { svc: AuthzClient; plane: FakePlane } => {
  const { svc, plane } = fakeClient();
  plane.replies.set(route, () => json(status, body));
  return { svc, plane };
};

describe.each(rows)("$name", (want) => {
  test("asks its route under its plane's bearer, and reads the answer", async () => {
    const { svc, plane } = asking(want);
    expect(await want.ask(svc)).toEqual(want.want);
    const [sent] = plane.sent;
    expect(Object.fromEntries(sent?.url.searchParams ?? [])).toEqual(want.query ?? {});
    expect(sent?.body === "" ? undefined : JSON.parse(sent?.body ?? "")).toEqual(want.body);
    expect(sent && bearerOf(sent)).toBe(want.bearer);
  });

  test("takes an answer of another shape for none", async () => {
    const { svc } = asking({ ...want, answer: [want.answer[0], { data: 5 }] });
    expect(await errorOf(want.ask(svc))).toMatchObject({ name: "ControlPlaneUnavailable", fault: "malformed" });
  });

  test.each<[string, Response, typeof ControlPlaneRejected | typeof ControlPlaneUnavailable, object]>([
    ["401", refused(401, "unauthorized"), ControlPlaneRejected, { status: 401, code: "unauthorized" }],
    [
      "401 of a proxy",
      new Response("<html>", { status: 401 }),
      ControlPlaneRejected,
      { status: 401, code: "unauthorized" },
    ],
    [
      "404",
      refused(404, "agent_not_found", { x: 1 }),
      ControlPlaneRejected,
      { status: 404, code: "agent_not_found", message: "refused: agent_not_found", details: { x: 1 } },
    ],
    ["404 of a proxy", new Response("<html>", { status: 404 }), ControlPlaneUnavailable, { status: 404, code: null }],
    ["429", refused(429, "rate_limited"), ControlPlaneUnavailable, { status: 429, code: "rate_limited" }],
    ["503", refused(503, "database_unavailable"), ControlPlaneUnavailable, { status: 503, fault: "status" }],
    [
      "a redirect",
      new Response(null, { status: 302, headers: { location: "/" } }),
      ControlPlaneUnavailable,
      { status: 302 },
    ],
  ])("tells a refusal from an outage: %s", async (_, reply, kind, facts) => {
    const { svc, plane } = fakeClient();
    plane.replies.set(want.route, () => reply);
    const [method = "", path = ""] = want.route.split(" ");
    const error = await errorOf(want.ask(svc));
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ method, path, ...facts });
    for (const secret of ["admin-bearer", "audit-bearer", "identity-bearer"]) {
      expect(JSON.stringify(error) + String(error)).not.toContain(secret);
    }
  });
});

describe("a manifest that is refused", () => {
  const diff = [
    { ref: "http:ledger/post", kind: "exceeds", field: "tools", declared: "x", discovered: null, remedy: "Remove it." },
    {
      ref: "http:ledger/read",
      kind: "conflicts",
      field: "access",
      declared: "read",
      discovered: "write",
      remedy: "Say so.",
    },
  ];
  test.each([
    [422, "reconciliation_rejected", false],
    [409, "needs_review", true],
  ])("%i %s: the diff and its remedies", async (status, code, needsReview) => {
    for (const ask of [
      (svc: AuthzClient) => svc.admin.registerAgent({ name: "planner", manifest }),
      (svc: AuthzClient) => svc.admin.submitManifest({ agent: "planner", manifest }),
    ]) {
      const { svc, plane } = fakeClient();
      for (const route of ["POST /v1/agents", "POST /v1/manifests"])
        plane.replies.set(route, () => refused(status, code, { diff }));
      const error = await errorOf(ask(svc));
      expect(error).toBeInstanceOf(ManifestRejected);
      expect(error).toBeInstanceOf(ControlPlaneRejected);
      expect(error).toMatchObject({ name: "ManifestRejected", status, code, diff, needsReview });
      expect((error as ManifestRejected).remedies()).toEqual([
        "http:ledger/post: Remove it.",
        "http:ledger/read: Say so.",
      ]);
    }
  });

  test("for another cause is an ordinary rejection", async () => {
    const { svc, plane } = fakeClient();
    plane.replies.set("POST /v1/agents", () => refused(409, "agent_exists"));
    const error = await errorOf(svc.admin.registerAgent({ name: "planner", manifest }));
    expect(error).not.toBeInstanceOf(ManifestRejected);
    expect(error).toMatchObject({ name: "ControlPlaneRejected", code: "agent_exists" });
  });
});

describe("allDecisions", () => {
  const pages = (plane: FakePlane) =>
    plane.replies.set("GET /v1/audit/decisions", ({ url }) => {
      const page = Number(url.searchParams.get("cursor") ?? 0);
      const data = [
        { ...row, action_id: `a${page}-1` },
        { ...row, action_id: `a${page}-2` },
      ];
      return json(200, { data, page: { next_cursor: page < 2 ? String(page + 1) : null, limit: 2 } });
    });

  test("reads every page under the same filters, as the loop goes on", async () => {
    const { svc, plane } = fakeClient();
    pages(plane);
    const actions: string[] = [];
    for await (const { actionId } of svc.audit.allDecisions({ outcome: "deny", limit: 2 })) actions.push(actionId);
    expect(actions).toEqual(["a0-1", "a0-2", "a1-1", "a1-2", "a2-1", "a2-2"]);
    expect(plane.sent.map(({ url }) => url.search)).toEqual([
      "?limit=2&outcome=deny",
      "?limit=2&cursor=1&outcome=deny",
      "?limit=2&cursor=2&outcome=deny",
    ]);
  });

  test("reads no page that nobody asked for", async () => {
    const { svc, plane } = fakeClient();
    pages(plane);
    for await (const _ of svc.audit.allDecisions()) break;
    expect(plane.sent).toHaveLength(1);
  });
});

test("bearers fall back as the planes do", async () => {
  const bearersWith = async (options: object) => {
    const { svc, plane } = fakeClient({
      adminToken: undefined,
      auditToken: undefined,
      identityToken: undefined,
      ...options,
    });
    await Promise.allSettled([svc.admin.agents(), svc.audit.decisions(), svc.identity.revocations()]);
    return plane.sent.map(bearerOf);
  };
  expect(await bearersWith({ adminToken: "a" })).toEqual(["a", "a", "a"]);
  expect(await bearersWith({ adminToken: "a", auditToken: "b" })).toEqual(["a", "b", "b"]);
  expect(await bearersWith({ adminToken: "a", identityToken: "c" })).toEqual(["a", "a", "c"]);
  expect(await bearersWith({})).toEqual(["", "", ""]);
});

test.each(["", ".", "..", "\ud800"])("the name %o cannot lead to another path", async (name) => {
  const { svc, plane } = fakeClient();
  for (const ask of [
    () => svc.admin.manifest(name),
    () => svc.admin.scopeCatalog(name),
    () => svc.audit.chain(name),
    () => svc.identity.of(name),
    () => svc.identity.revoke(name),
  ]) {
    expect(await errorOf(ask())).toBeInstanceOf(TypeError);
  }
  expect(plane.sent).toEqual([]);
});
