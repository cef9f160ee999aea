/** A request as the API reference shows it. `$NAME` in a value is a variable of the shell. */
export interface RequestExample {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object;
  /** Sent as a form. */
  readonly form?: Readonly<Record<string, string>>;
  /** Sent as lines of JSON. */
  readonly lines?: readonly object[];
  /** The variable with the bearer, where it is not that of the route's first plane. */
  readonly bearer?: string;
  /** The same with `@svc/client`; by default with `fetch`. */
  readonly client?: string;
}

const tools = [{ ref: "http:ledger/post", data_classes: ["finance.entries"], access: "write", privileged: true }];
const manifest = { scopes: { expenses: { hop_budget: 3, tools } } };
const override = { reason: "reviewed in change 4711" };
const call = { target: "http:ledger/post", target_kind: "tool", data_class: "finance.entries" };

const clientCall = `await svc.call(session.context(), {
  target: "http:ledger/post",
  targetKind: "tool",
  dataClass: "finance.entries",
  params: { amount: 12 },
  request: { url: "https://ledger.internal/entries", method: "POST" },
});`;

/** By route, in the order of a first use. A test sends each, one after the other. */
export const requestExamples: Readonly<Record<string, RequestExample>> = {
  "POST /v1/agents": {
    body: { name: "planner", manifest, override },
    client: `await svc.admin.registerAgent({ name: "planner", manifest, overrideReason: "reviewed in change 4711" });`,
  },
  "GET /v1/agents": {
    query: { limit: "10" },
    client: `for (const agent of (await svc.admin.agents({ limit: 10 })).data) console.log(agent.name);`,
  },
  "GET /v1/agents/resolve": {
    query: { name: "planner" },
    client: `const agentId = await svc.admin.agentId("planner");`,
  },
  "GET /v1/agents/{agent_id}/reconciliation": {
    params: { agent_id: "$AGENT_ID" },
    client: `const { status, diff } = await svc.admin.reconciliation(agentId);`,
  },
  "POST /v1/manifests/preview": {
    body: { agent: "planner", manifest },
    client: `const { status, diff } = await svc.admin.previewManifest({ agent: "planner", manifest });`,
  },
  "POST /v1/manifests": {
    body: { agent: "planner", manifest, override },
    client: `await svc.admin.submitManifest({ agent: "planner", manifest, overrideReason: "reviewed in change 4711" });`,
  },
  "GET /v1/manifests/{scope}": {
    params: { scope: "expenses" },
    query: { agent: "planner" },
    client: `const { version, doc } = await svc.admin.manifest("expenses", { agent: "planner" });`,
  },
  "GET /v1/scopes": { client: `const { data } = await svc.audit.scopes();` },
  "GET /v1/scopes/{scope}/catalog": {
    params: { scope: "expenses" },
    client: `const { tools } = await svc.admin.scopeCatalog("expenses");`,
  },
  "POST /v1/consent": {
    body: { scope: "expenses", user_sub: "ada" },
    client: `const session = await svc.consent({ scope: "expenses", userSub: "ada" });`,
  },
  "GET /v1/session/targets": {
    bearer: "ROOT_GRANT",
    client: `const { data } = await svc.targets(session.context());`,
  },
  "POST /v1/authorize": {
    bearer: "ROOT_GRANT",
    body: { session_id: "$SESSION_ID", ...call, taint: "trusted_internal", enforced: true },
    client: `const grant = await svc.authorize(session.context(), {
  target: "http:ledger/post",
  targetKind: "tool",
  dataClass: "finance.entries",
});`,
  },
  "POST /v1/token/exchange": {
    form: {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: "$ROOT_GRANT",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      resource: "http:ledger/post",
      scope: "finance.entries",
      action_id: "$ACTION_ID",
    },
    client: `// authorize, exchange and the call in one: the tool gets a token of its own
${clientCall}`,
  },
  "POST /v1/token/transaction": {
    bearer: "TOOL_TOKEN",
    body: { action_id: "$ACTION_ID", params: { amount: 12 } },
    client: `// call() mints the transaction token of a privileged call
${clientCall}`,
  },
  "POST /v1/hops": {
    lines: [{ session_id: "$SESSION_ID", token: "$NEXT_TOKEN", ...call, body_settled: true }],
    client: `// one trip and one commit, where the control plane offers it
const [grant] = await svc.hop(session.context(), {
  target: "http:ledger/post",
  targetKind: "tool",
  dataClass: "finance.entries",
});`,
  },
  "POST /v1/token/renew": {
    bearer: "RENEWABLE_TOKEN",
    body: { count: 2 },
    client: `// the client renews by itself: the context stays good until the session ends
const { data } = await svc.targets(session.context());`,
  },
  "GET /v1/sessions": {
    query: { user_sub: "ada", status: "active" },
    client: `const { data } = await svc.audit.sessions({ userSub: "ada", status: "active" });`,
  },
  "GET /v1/sessions/{session_id}": {
    params: { session_id: "$SESSION_ID" },
    client: `const { status, taintMarks } = await svc.audit.session(session.sessionId);`,
  },
  "GET /v1/sign-ins": {
    query: { user_sub: "ada" },
    client: `const { data } = await svc.audit.signIns({ userSub: "ada" });`,
  },
  "POST /v1/sign-ins/{sign_in_id}/end": {
    params: { sign_in_id: "$SIGN_IN_ID" },
    body: { reason: "a lost laptop" },
    client: `for (const { signInId } of (await svc.audit.signIns()).data) await svc.admin.endSignIn(signInId);`,
  },
  "POST /v1/sign-ins/end": {
    body: { user_sub: "ada", reason: "left the company" },
    client: `const ended = await svc.admin.endSignIns({ userSub: "ada", reason: "left the company" });`,
  },
  "GET /v1/sinks": {
    client: `for (const { sink, undelivered, lastError } of (await svc.audit.sinks()).data) console.log(sink, undelivered, lastError);`,
  },
  "POST /v1/sinks/{sink}/replay": {
    params: { sink: "webhook" },
    body: { since: "2026-01-31T08:00:00Z" },
    client: `const { undelivered } = await svc.admin.replaySink("webhook", "2026-01-31T08:00:00Z");`,
  },
  "GET /v1/audit/decisions": {
    query: { outcome: "deny", limit: "10" },
    client: `for await (const { target, denyReason } of svc.audit.allDecisions({ outcome: "deny" })) console.log(target, denyReason);`,
  },
  "GET /v1/decisions": { query: { limit: "10" } },
  "GET /v1/audit/actions/{action_id}/chain": {
    params: { action_id: "$ACTION_ID" },
    client: `const { root, hops } = await svc.audit.chain(actionId);`,
  },
  "GET /v1/audit/actions/{action_id}/explanation": {
    params: { action_id: "$ACTION_ID" },
    client: `const { checks, remedy } = await svc.audit.explanation(actionId);`,
  },
  "GET /v1/audit/verdicts": {
    query: { agent: "planner", target: "http:ledger/post" },
    client: `const { verdicts } = await svc.audit.verdicts({ agent: "planner", target: "http:ledger/post" });`,
  },
  "GET /v1/audit/events": {
    query: { agent: "planner" },
    client: `const { data } = await svc.audit.events({ agent: "planner" });`,
  },
  "GET /v1/audit/would-block": {
    query: { scope: "expenses" },
    client: `const { data } = await svc.audit.wouldBlock({ scope: "expenses" });`,
  },
  "POST /v1/audit/replay": {
    body: { agent: "planner", manifest },
    client: `const { changes } = await svc.audit.replay({ agent: "planner", manifest });`,
  },
  "PUT /v1/blocks/{kind}/{ref}": {
    params: { kind: "tool", ref: "mcp%3Afiles" },
    body: { reason: "CVE-2026-0001" },
    client: `await svc.admin.setBlock({ kind: "tool", ref: "mcp:files", reason: "CVE-2026-0001" });`,
  },
  "GET /v1/blocks": { client: `const { data } = await svc.audit.blocks();` },
  "DELETE /v1/blocks/{kind}/{ref}": {
    params: { kind: "tool", ref: "mcp%3Afiles" },
    client: `await svc.admin.liftBlock({ kind: "tool", ref: "mcp:files" });`,
  },
  "POST /v1/sessions/{session_id}/revoke": {
    params: { session_id: "$SESSION_ID" },
    body: { reason: "the laptop was lost" },
    client: `await svc.admin.revokeSession(session.sessionId, { reason: "the laptop was lost" });`,
  },
  "POST /v1/sessions/revoke": {
    body: { user_sub: "ada", reason: "the laptop was lost" },
    client: `const revoked = await svc.admin.revokeSessions({ userSub: "ada", reason: "the laptop was lost" });`,
  },
  "POST /v1/handles/redeem": { body: { handle: "$ACCESS_TOKEN", resource: "https://tools.test/ledger" } },
  "POST /v1/session/consents": { body: { token: "$HOP_TOKEN" } },
  "POST /v1/identity/enroll-tokens": {
    body: { agent: "planner" },
    client: `const { enrollToken } = await svc.identity.issueEnrollToken({ agent: "planner" });`,
  },
  "POST /v1/identity/enrollments": {
    body: { agent: "planner", jwk: { kty: "EC", crv: "P-256", x: "$JWK_X", y: "$JWK_Y" } },
    client: `// proves the key of the client's options too
const { status } = await svc.identity.enroll();`,
  },
  "POST /v1/identity/enrollments/{enrollment_id}/complete": {
    params: { enrollment_id: "$ENROLLMENT_ID" },
    body: { proof: "$PROOF" },
    client: `const { status } = await svc.identity.enroll();`,
  },
  "GET /v1/identity/agents/{name}": {
    params: { name: "planner" },
    client: `const { status } = await svc.identity.of("planner");`,
  },
  "GET /v1/identity/agents/by-id/{agent_id}": {
    params: { agent_id: "$AGENT_ID" },
    client: `const { status } = await svc.identity.byId(agentId);`,
  },
  "GET /v1/identity/revocations/stream": { query: { since: "2026-01-01T00:00:00Z" } },
  "GET /v1/identity/revocations": { client: `const { data, asOf } = await svc.identity.revocations();` },
  "POST /v1/agents/{agent_id}/lift-quarantine": {
    params: { agent_id: "$AGENT_ID" },
    body: { reason: "enrolled with the wrong key" },
    client: `await svc.identity.liftQuarantine(agentId, { reason: "enrolled with the wrong key" });`,
  },
  "POST /v1/agents/{agent_id}/revoke": {
    params: { agent_id: "$AGENT_ID" },
    body: { reason: "its key leaked" },
    client: `await svc.identity.revoke(agentId, { reason: "its key leaked" });`,
  },
  "GET /v1/keys": { client: `const { data } = await svc.admin.issuerKeys();` },
  "POST /v1/keys/rotate": {
    body: { now: true },
    client: `const { kid, activatesAt } = await svc.admin.rotateKey({ now: true });`,
  },
  "DELETE /v1/keys/{kid}": { params: { kid: "$KID" }, client: `await svc.admin.removeKey(kid);` },
  "POST /v1/issuer-epoch": {
    body: { reason: "restored from a backup" },
    client: `const { notBefore } = await svc.admin.raiseIssuerEpoch({ reason: "restored from a backup" });`,
  },
  "GET /.well-known/jwks.json": { client: `const { keys } = await svc.jwks();` },
  "GET /.well-known/oauth-authorization-server": { client: `const { issuer } = await svc.metadata();` },
  "GET /livez": {},
  "GET /readyz": { client: `await svc.ready();` },
  "GET /metrics": {},
  "GET /openapi.json": {},
  "GET /docs": {},
  "GET /docs/start.js": {},
  "GET /docs/reference.js": {},
};
