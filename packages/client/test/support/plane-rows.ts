import type { AuthzClient } from "../../src/index.ts";

export const manifest = { scopes: { expenses: { hop_budget: 4 } } };
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
export const row = {
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

/** One method of a plane: what it asks, and what it makes of the answer. */
export interface Row {
  readonly name: string;
  readonly ask: (svc: AuthzClient) => Promise<unknown>;
  readonly route: string;
  readonly query?: Record<string, string>;
  readonly body?: object;
  readonly bearer: string;
  readonly answer: [status: number, body: unknown];
  readonly want: unknown;
}

export const rows: readonly Row[] = [
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
