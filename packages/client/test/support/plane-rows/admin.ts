import { block, lastPage, type Row, session, sessionRow, t } from "./shared.ts";

export const manifest = { scopes: { expenses: { hop_budget: 4 } } };
const registration = { agent_id: "id", manifest_version: 2, status: "attested" };

export const adminRows: readonly Row[] = [
  {
    name: "registerAgent",
    call: (svc) => svc.admin.registerAgent({ name: "planner", manifest }),
    route: "POST /v1/agents",
    body: { name: "planner", manifest },
    bearer: "admin-bearer",
    response: [201, registration],
    want: { agentId: "id", manifestVersion: 2, status: "attested" },
  },
  {
    name: "submitManifest, overriding",
    call: (svc) => svc.admin.submitManifest({ agent: "planner", manifest, overrideReason: "seen it" }),
    route: "POST /v1/manifests",
    body: { agent: "planner", manifest, override: { reason: "seen it" } },
    bearer: "admin-bearer",
    response: [201, registration],
    want: { agentId: "id", manifestVersion: 2, status: "attested" },
  },
  {
    name: "manifest, of a scope that needs encoding",
    call: (svc) => svc.admin.manifest("a/b %2e?é", { version: 2, agent: "planner" }),
    route: "GET /v1/manifests/a%2Fb%20%252e%3F%C3%A9",
    query: { version: "2", agent: "planner" },
    bearer: "admin-bearer",
    response: [
      200,
      { agent: "planner", version: 2, status: "attested", attested_by: "human:x", doc: { a_b: 1 }, created_at: t },
    ],
    want: { agent: "planner", version: 2, status: "attested", attestedBy: "human:x", doc: { a_b: 1 }, createdAt: t },
  },
  {
    name: "agents",
    call: (svc) => svc.admin.agents({ limit: 2, cursor: "c+/=", status: "reconciled" }),
    route: "GET /v1/agents",
    query: { limit: "2", cursor: "c+/=", status: "reconciled" },
    bearer: "admin-bearer",
    response: [
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
    call: (svc) => svc.admin.agentId("planner"),
    route: "GET /v1/agents/resolve",
    query: { name: "planner" },
    bearer: "admin-bearer",
    response: [200, { agent_id: "id", name: "planner" }],
    want: "id",
  },
  {
    name: "reconciliation",
    call: (svc) => svc.admin.reconciliation("id"),
    route: "GET /v1/agents/id/reconciliation",
    bearer: "admin-bearer",
    response: [
      200,
      {
        manifest_version: 1,
        status: "attested",
        discovery_ok: false,
        diff: [{ ref: "r", kind: "undiscovered", field: "tools", declared: null, discovered: null, remedy: "m" }],
        discovery: [
          {
            ...{ kind: "mcp", name: "ledger", origin: "https://ledger.test", ok: true },
            ...{ credentials: "sent", protocol_version: "2026-07-28", pages: 2 },
          },
        ],
        attestation: { by: "human:x", reason: null },
        checked_at: t,
      },
    ],
    want: {
      manifestVersion: 1,
      status: "attested",
      discoveryOk: false,
      diff: [{ ref: "r", kind: "undiscovered", field: "tools", declared: null, discovered: null, remedy: "m" }],
      discovery: [
        {
          ...{ kind: "mcp", name: "ledger", origin: "https://ledger.test", ok: true },
          ...{ credentials: "sent", protocolVersion: "2026-07-28", pages: 2 },
        },
      ],
      attestation: { by: "human:x", reason: null },
      checkedAt: t,
    },
  },
  {
    name: "scopeCatalog",
    call: (svc) => svc.admin.scopeCatalog("expenses", { version: 3 }),
    route: "GET /v1/scopes/expenses/catalog",
    query: { version: "3" },
    bearer: "admin-bearer",
    response: [
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
    name: "revokeSession",
    call: (svc) => svc.admin.revokeSession("s", { reason: "over" }),
    route: "POST /v1/sessions/s/revoke",
    body: { reason: "over" },
    bearer: "admin-bearer",
    response: [200, { ...sessionRow, taint_marks: [] }],
    want: { ...session, taintMarks: [] },
  },
  {
    name: "revokeSessions",
    call: (svc) => svc.admin.revokeSessions({ userSub: "ada", reason: "over" }),
    route: "POST /v1/sessions/revoke",
    body: { user_sub: "ada", reason: "over" },
    bearer: "admin-bearer",
    response: [200, { revoked: 2 }],
    want: 2,
  },
  {
    name: "setBlock",
    call: (svc) => svc.admin.setBlock({ kind: "tool", ref: "http:till/pay", reason: "r", until: new Date(t) }),
    route: "PUT /v1/blocks/tool/http%3Atill%2Fpay",
    body: { reason: "r", until: t },
    bearer: "admin-bearer",
    response: [200, { ...block, created_at: t }],
    want: { ...block, createdAt: t },
  },
  {
    name: "issuerKeys",
    call: (svc) => svc.admin.issuerKeys(),
    route: "GET /v1/keys",
    bearer: "admin-bearer",
    response: [
      200,
      {
        data: [{ kid: "k", status: "next", created_at: null, activates_at: t, superseded_at: null }],
        page: lastPage,
      },
    ],
    want: {
      data: [{ kid: "k", status: "next", createdAt: null, activatesAt: t, supersededAt: null }],
      page: { nextCursor: null, limit: 50 },
    },
  },
  {
    name: "rotateKey",
    call: (svc) => svc.admin.rotateKey({ now: true }),
    route: "POST /v1/keys/rotate",
    body: { now: true },
    bearer: "admin-bearer",
    response: [200, { kid: "k", activates_at: t }],
    want: { kid: "k", activatesAt: t },
  },
  {
    name: "raiseIssuerEpoch",
    call: (svc) => svc.admin.raiseIssuerEpoch({ reason: "restored" }),
    route: "POST /v1/issuer-epoch",
    body: { reason: "restored" },
    bearer: "admin-bearer",
    response: [200, { not_before: t, kid: "k", revoked: 3 }],
    want: { notBefore: t, kid: "k", revoked: 3 },
  },
];
