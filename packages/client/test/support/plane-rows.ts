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
const check = { check: "identity", passed: true, facts: { required: false, statuses: { a_b: "none" } } };
const event = { kind: "block_set", ts: t, actor: "ada", agent: null, reason: null, details: { some_ref: "r" } };
const group = { agent: "clerk", target: "http:x", count: 2 };
const sessionRow = {
  session_id: "s",
  status: "active",
  scope: "expenses",
  user_sub: "ada",
  policy_version: 1,
  hop_budget: 4,
  consented_by: "admin",
  consented_at: t,
  expires_at: t,
  revoked_at: null,
  revoked_by: null,
  revoked_reason: null,
};
const session = {
  sessionId: "s",
  status: "active",
  scope: "expenses",
  userSub: "ada",
  policyVersion: 1,
  hopBudget: 4,
  consentedBy: "admin",
  consentedAt: t,
  expiresAt: t,
  revokedAt: null,
  revokedBy: null,
  revokedReason: null,
};
const mark = { agent: null, taint: "untrusted_external", source: "http:x", ts: t };
const block = { kind: "tool", ref: "http:till/pay", reason: "r", until: null };
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
  {
    name: "issueEnrollToken",
    ask: (svc) => svc.identity.issueEnrollToken({ agent: "planner", ttlSeconds: 60 }),
    route: "POST /v1/identity/enroll-tokens",
    body: { agent: "planner", ttl_seconds: 60 },
    bearer: "admin-bearer",
    answer: [201, { enroll_token: "e", agent: "planner", expires_at: t }],
    want: { enrollToken: "e", agent: "planner", expiresAt: t },
  },
  {
    name: "explanation",
    ask: (svc) => svc.audit.explanation("a"),
    route: "GET /v1/audit/actions/a/explanation",
    bearer: "audit-bearer",
    answer: [200, { action_id: "a", decision: "allow", deny_reason: null, checks: [check], remedy: null }],
    want: { actionId: "a", decision: "allow", denyReason: null, checks: [check], remedy: null },
  },
  {
    name: "events",
    ask: (svc) => svc.audit.events({ kind: "block_set", sessionId: "s", since: new Date(t) }),
    route: "GET /v1/audit/events",
    query: { kind: "block_set", session_id: "s", since: t },
    bearer: "audit-bearer",
    answer: [200, { data: [{ ...event, event_id: "e", session_id: null }], page: lastPage }],
    want: { data: [{ ...event, eventId: "e", sessionId: null }], page: { nextCursor: null, limit: 50 } },
  },
  {
    name: "wouldBlock",
    ask: (svc) => svc.audit.wouldBlock({ scope: "expenses" }),
    route: "GET /v1/audit/would-block",
    query: { scope: "expenses" },
    bearer: "audit-bearer",
    answer: [
      200,
      {
        data: [
          {
            ...group,
            target_kind: "tool",
            data_class: "d",
            deny_reason: "TARGET_NOT_DECLARED",
            first_ts: t,
            last_ts: t,
          },
        ],
        page: lastPage,
      },
    ],
    want: {
      data: [
        { ...group, targetKind: "tool", dataClass: "d", denyReason: "TARGET_NOT_DECLARED", firstTs: t, lastTs: t },
      ],
      page: { nextCursor: null, limit: 50 },
    },
  },
  {
    name: "sessions",
    ask: (svc) => svc.audit.sessions({ userSub: "ada", status: "active" }),
    route: "GET /v1/sessions",
    query: { user_sub: "ada", status: "active" },
    bearer: "audit-bearer",
    answer: [200, { data: [sessionRow], page: lastPage }],
    want: { data: [session], page: { nextCursor: null, limit: 50 } },
  },
  {
    name: "session",
    ask: (svc) => svc.audit.session("s"),
    route: "GET /v1/sessions/s",
    bearer: "audit-bearer",
    answer: [200, { ...sessionRow, taint_marks: [{ ...mark, action_id: "a" }] }],
    want: { ...session, taintMarks: [{ ...mark, actionId: "a" }] },
  },
  {
    name: "revokeSession",
    ask: (svc) => svc.admin.revokeSession("s", { reason: "over" }),
    route: "POST /v1/sessions/s/revoke",
    body: { reason: "over" },
    bearer: "admin-bearer",
    answer: [200, { ...sessionRow, taint_marks: [] }],
    want: { ...session, taintMarks: [] },
  },
  {
    name: "revokeSessions",
    ask: (svc) => svc.admin.revokeSessions({ userSub: "ada", reason: "over" }),
    route: "POST /v1/sessions/revoke",
    body: { user_sub: "ada", reason: "over" },
    bearer: "admin-bearer",
    answer: [200, { revoked: 2 }],
    want: 2,
  },
  {
    name: "blocks",
    ask: (svc) => svc.audit.blocks({ limit: 3 }),
    route: "GET /v1/blocks",
    query: { limit: "3" },
    bearer: "audit-bearer",
    answer: [200, { data: [{ ...block, created_at: t }], page: lastPage }],
    want: { data: [{ ...block, createdAt: t }], page: { nextCursor: null, limit: 50 } },
  },
  {
    name: "setBlock",
    ask: (svc) => svc.admin.setBlock({ kind: "tool", ref: "http:till/pay", reason: "r", until: new Date(t) }),
    route: "PUT /v1/blocks/tool/http%3Atill%2Fpay",
    body: { reason: "r", until: t },
    bearer: "admin-bearer",
    answer: [200, { ...block, created_at: t }],
    want: { ...block, createdAt: t },
  },
  {
    name: "issuerKeys",
    ask: (svc) => svc.admin.issuerKeys(),
    route: "GET /v1/keys",
    bearer: "admin-bearer",
    answer: [
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
    ask: (svc) => svc.admin.rotateKey({ now: true }),
    route: "POST /v1/keys/rotate",
    body: { now: true },
    bearer: "admin-bearer",
    answer: [200, { kid: "k", activates_at: t }],
    want: { kid: "k", activatesAt: t },
  },
  {
    name: "raiseIssuerEpoch",
    ask: (svc) => svc.admin.raiseIssuerEpoch({ reason: "restored" }),
    route: "POST /v1/issuer-epoch",
    body: { reason: "restored" },
    bearer: "admin-bearer",
    answer: [200, { not_before: t, kid: "k", revoked: 3 }],
    want: { notBefore: t, kid: "k", revoked: 3 },
  },
];
