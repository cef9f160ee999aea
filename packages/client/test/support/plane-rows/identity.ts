import { lastPage, type Row, t } from "./shared.ts";

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

export const identityRows: readonly Row[] = [
  {
    name: "identity of a name",
    call: (svc) => svc.identity.of("planner"),
    route: "GET /v1/identity/agents/planner",
    bearer: "identity-bearer",
    response: [200, identity],
    want: identityRead,
  },
  {
    name: "identity by id",
    call: (svc) => svc.identity.byId("id"),
    route: "GET /v1/identity/agents/by-id/id",
    bearer: "identity-bearer",
    response: [200, identity],
    want: identityRead,
  },
  {
    name: "revocations",
    call: (svc) => svc.identity.revocations({ since: t, limit: 1, cursor: "c" }),
    route: "GET /v1/identity/revocations",
    query: { since: t, limit: "1", cursor: "c" },
    bearer: "identity-bearer",
    response: [200, { data: [{ agent_id: "id", agent: "planner", as_of: t }], page: lastPage, as_of: t }],
    want: { data: [{ agentId: "id", agent: "planner", asOf: t }], page: { nextCursor: null, limit: 50 }, asOf: t },
  },
  {
    name: "revoke",
    call: (svc) => svc.identity.revoke("id", { reason: "gone" }),
    route: "POST /v1/agents/id/revoke",
    body: { reason: "gone" },
    bearer: "admin-bearer",
    response: [200, identity],
    want: identityRead,
  },
  {
    name: "issueEnrollToken",
    call: (svc) => svc.identity.issueEnrollToken({ agent: "planner", ttlSeconds: 60 }),
    route: "POST /v1/identity/enroll-tokens",
    body: { agent: "planner", ttl_seconds: 60 },
    bearer: "admin-bearer",
    response: [201, { enroll_token: "e", agent: "planner", expires_at: t }],
    want: { enrollToken: "e", agent: "planner", expiresAt: t },
  },
];
