import type { Answer, Api } from "./api.ts";
import { enrolling, newKey } from "./enrollment.ts";
import { clerkSession, ledgerHops, registerLedger } from "./ledger.ts";
import { startOne } from "./stack.ts";

const scope = "documented";
const hops = ledgerHops(scope);
const clerk = hops.clerk.target;
const unknownId = "01a00000-0000-7000-8000-000000000000";

/** What the examples stand on: a scope with its agents. */
export const prepare = (api: Api): Promise<void> => registerLedger(api, scope);

/** Calls of one route as its callers make them: at least one that succeeds, and refusals that the document names. */
export type Example = (api: Api) => Promise<readonly Answer[]>;

const bearing =
  (plane: keyof Api["tokens"]) =>
  (api: Api, method: string, path: string, body?: unknown): Promise<Answer> =>
    api.call(method, path, { bearer: api.tokens[plane], ...(body !== undefined && { body }) });
const admin = bearing("admin");
const audit = bearing("audit");
const identity = bearing("identity");

/** One after the other: what one did, the next may find. */
const inTurn = async (...calls: readonly (() => Promise<Answer>)[]): Promise<readonly Answer[]> => {
  const answers: Answer[] = [];
  for (const call of calls) answers.push(await call());
  return answers;
};

const agentId = async (api: Api, name: string = clerk): Promise<string> =>
  (await admin(api, "GET", `/v1/agents/resolve?name=${name}`)).body.agent_id;

let agents = 0;
const manifestOf = (tool: string) => ({
  scopes: { [scope]: { hop_budget: 2, tools: [{ ref: tool, data_classes: ["web"] }] } },
});
/** An agent that only this example knows. */
async function newAgent(api: Api): Promise<string> {
  const name = `documented-${++agents}`;
  await api.attest(name, { [`${scope}-aside`]: { hop_budget: 2 } });
  return name;
}

const anAction = async (api: Api): Promise<string> => {
  const { session, clerk: held } = await clerkSession(api, scope);
  return (await api.authorize(session, held.token, hops.read)).body.action_id;
};

/** An allow, and what spends it. */
async function grantedHop(api: Api) {
  const { session, clerk: held } = await clerkSession(api, scope);
  const { action_id: action } = (await api.authorize(session, held.token, hops.read)).body;
  return { session, exchange: () => api.exchange(held.token, hops.read, action) };
}

const endSession = (api: Api, session: string) => admin(api, "POST", `/v1/sessions/${session}/revoke`, {});

const registration: Readonly<Record<string, Example>> = {
  "POST /v1/agents": async (api) => {
    const name = `documented-${++agents}`;
    const body = { name, manifest: manifestOf("http:documented/read") };
    const url = "http://127.0.0.1:1/";
    const unreachable = { ...body.manifest, discovery: { kind: "http", name: "x", url } };
    return inTurn(
      () => admin(api, "POST", "/v1/agents", { ...body, manifest: unreachable }),
      () => admin(api, "POST", "/v1/agents", { ...body, override: { reason: "a person looked" } }),
      () => admin(api, "POST", "/v1/agents", { ...body, override: {} }),
      () => admin(api, "POST", "/v1/agents", { ...body, name: `${name}-x`, manifest: manifestOf(clerk), override: {} }),
    );
  },
  "POST /v1/manifests": async (api) => {
    const agent = await newAgent(api);
    const body = { agent, manifest: manifestOf("http:documented/read") };
    return inTurn(
      () => admin(api, "POST", "/v1/manifests", body),
      () => admin(api, "POST", "/v1/manifests", { ...body, override: {} }),
      () => admin(api, "POST", "/v1/manifests", { ...body, agent: "nobody", override: {} }),
    );
  },
  "GET /v1/agents": (api) =>
    inTurn(
      () => admin(api, "GET", "/v1/agents"),
      () => admin(api, "GET", "/v1/agents?limit=1&status=attested"),
    ),
  "GET /v1/agents/resolve": (api) => inTurn(() => admin(api, "GET", `/v1/agents/resolve?name=${clerk}`)),
  "GET /v1/agents/{agent_id}/reconciliation": async (api) => {
    const id = await agentId(api);
    return inTurn(() => admin(api, "GET", `/v1/agents/${id}/reconciliation`));
  },
  "GET /v1/manifests/{scope}": (api) =>
    inTurn(
      () => admin(api, "GET", `/v1/manifests/${scope}?agent=${clerk}&version=1`),
      () => admin(api, "GET", `/v1/manifests/${scope}?version=99`),
    ),
  "GET /v1/scopes/{scope}/catalog": (api) =>
    inTurn(
      () => admin(api, "GET", `/v1/scopes/${scope}/catalog`),
      () => admin(api, "GET", `/v1/scopes/${scope}/catalog?version=999`),
    ),
};

const sessions: Readonly<Record<string, Example>> = {
  "POST /v1/consent": (api) =>
    inTurn(
      () => admin(api, "POST", "/v1/consent", { scope, user_sub: "ada", ttl_seconds: 60 }),
      () => admin(api, "POST", "/v1/consent", { scope, user_sub: "ada", policy_version: 999 }),
    ),
  "GET /v1/sessions": async (api) => {
    await clerkSession(api, scope);
    return inTurn(() => audit(api, "GET", `/v1/sessions?status=active&scope=${scope}&limit=1`));
  },
  "GET /v1/sessions/{session_id}": async (api) => {
    const { session, clerk: held } = await clerkSession(api, scope);
    await api.authorize(session, held.token, hops.browse);
    return inTurn(() => audit(api, "GET", `/v1/sessions/${session}`));
  },
  "POST /v1/sessions/{session_id}/revoke": async (api) => {
    const { session } = await api.consent(scope);
    return inTurn(() => admin(api, "POST", `/v1/sessions/${session}/revoke`, { reason: "over" }));
  },
  "POST /v1/sessions/revoke": (api) =>
    inTurn(
      () => admin(api, "POST", "/v1/sessions/revoke", { user_sub: "nobody" }),
      () => admin(api, "POST", "/v1/sessions/revoke", {}),
    ),
};

const hopRoutes: Readonly<Record<string, Example>> = {
  "POST /v1/authorize": async (api) => {
    const { session, clerk: held } = await clerkSession(api, scope);
    return inTurn(
      () => api.authorize(session, held.token, hops.read),
      () => api.authorize(session, held.token, { ...hops.read, target: "http:documented/nowhere" }),
      () => api.authorize(unknownId, held.token, hops.read),
    );
  },
  "POST /v1/token/exchange": async (api) => {
    const [granted, ended] = [await grantedHop(api), await grantedHop(api)];
    await endSession(api, ended.session);
    return inTurn(granted.exchange, granted.exchange, ended.exchange, () =>
      api.exchangeForm({ grant_type: "password" }),
    );
  },
  "POST /v1/token/renew": async (api) => {
    const [held, ended] = [await api.consent(scope), await api.consent(scope)];
    await endSession(api, ended.session);
    return inTurn(
      () => api.renew(held.token, 2),
      () => api.renew(held.token, 2),
      () => api.renew(ended.token, 1),
      () => api.renew("not a token", 2),
    );
  },
  "POST /v1/token/transaction": async (api) => {
    const { session, clerk: held } = await clerkSession(api, scope);
    const [reads, posts] = (await api.renew(held.token, 2)).body.tokens;
    const [read, post] = [await api.hop(session, reads, hops.read), await api.hop(session, posts, hops.post)];
    return inTurn(
      () => api.mint(post.token, post.action, { amount: "\ud800" }),
      () => api.mint(post.token, post.action, { amount: 1 }),
      () => api.mint(post.token, post.action, { amount: 1 }),
      () => api.mint(post.token, read.action, {}),
      () => api.mint(read.token, read.action, {}),
    );
  },
  "GET /v1/session/targets": async (api) => {
    const { clerk: held } = await clerkSession(api, scope);
    return inTurn(() => api.call("GET", "/v1/session/targets?limit=1", { bearer: held.token }));
  },
};

const audits: Readonly<Record<string, Example>> = {
  "GET /v1/audit/decisions": async (api) => {
    await anAction(api);
    return inTurn(
      () => audit(api, "GET", "/v1/audit/decisions"),
      () => audit(api, "GET", "/v1/audit/decisions?since=10000-01-01T00:00:00Z"),
    );
  },
  "GET /v1/decisions": async (api) => {
    await anAction(api);
    return inTurn(() => audit(api, "GET", "/v1/decisions?limit=1"));
  },
  "GET /v1/audit/actions/{action_id}/chain": async (api) => {
    const action = await anAction(api);
    return inTurn(() => audit(api, "GET", `/v1/audit/actions/${action}/chain`));
  },
  "GET /v1/audit/actions/{action_id}/explanation": async (api) => {
    const [action, { session, clerk: held }] = [await anAction(api), await clerkSession(api, scope)];
    const denied = await api.authorize(session, held.token, { ...hops.read, data_class: "web" });
    return inTurn(
      () => audit(api, "GET", `/v1/audit/actions/${action}/explanation`),
      () => audit(api, "GET", `/v1/audit/actions/${denied.body.action_id}/explanation`),
    );
  },
  "GET /v1/audit/events": (api) => inTurn(() => audit(api, "GET", "/v1/audit/events?limit=200")),
  "GET /v1/audit/would-block": async (api) => {
    const { session, clerk: held } = await clerkSession(api, scope);
    await api.authorize(session, held.token, { ...hops.read, data_class: "web" }, { enforced: false });
    return inTurn(() => audit(api, "GET", `/v1/audit/would-block?scope=${scope}`));
  },
};

const emergencies: Readonly<Record<string, Example>> = {
  "PUT /v1/blocks/{kind}/{ref}": (api) =>
    inTurn(
      () => admin(api, "PUT", "/v1/blocks/tool/http:documented%2Fhostile", { reason: "hostile" }),
      () => admin(api, "PUT", "/v1/blocks/person/ada", { reason: "hostile" }),
    ),
  "DELETE /v1/blocks/{kind}/{ref}": (api) =>
    inTurn(() => admin(api, "DELETE", "/v1/blocks/tool/http:documented%2Fhostile")),
  "GET /v1/blocks": async (api) => {
    await admin(api, "PUT", "/v1/blocks/agent/documented-hostile", { reason: "hostile" });
    return inTurn(() => audit(api, "GET", "/v1/blocks"));
  },
  "GET /v1/keys": (api) => inTurn(() => admin(api, "GET", "/v1/keys")),
  "POST /v1/keys/rotate": (api) => inTurn(() => admin(api, "POST", "/v1/keys/rotate", {})),
  "DELETE /v1/keys/{kid}": async (api) => {
    const { kid } = (await admin(api, "POST", "/v1/keys/rotate", {})).body;
    return inTurn(
      () => admin(api, "DELETE", `/v1/keys/${kid}`),
      () => admin(api, "DELETE", `/v1/keys/${kid}`),
    );
  },
  "POST /v1/issuer-epoch": async () => {
    // It ends every session, so on an authority of its own.
    const other = await startOne();
    try {
      return await inTurn(() => admin(other.api, "POST", "/v1/issuer-epoch", {}));
    } finally {
      await other.stop();
    }
  },
};

const identities: Readonly<Record<string, Example>> = {
  "POST /v1/identity/enroll-tokens": (api) =>
    inTurn(
      () => admin(api, "POST", "/v1/identity/enroll-tokens", { agent: clerk }),
      () => admin(api, "POST", "/v1/identity/enroll-tokens", { agent: "nobody" }),
    ),
  "POST /v1/identity/enrollments": async (api) => {
    const { begin } = enrolling(api);
    const [agent, key] = [await newAgent(api), await newKey()];
    const { enroll_token } = (await admin(api, "POST", "/v1/identity/enroll-tokens", { agent })).body;
    return inTurn(
      () => begin(agent, { key }),
      () => begin(agent, { key, enroll_token }, ""),
      () => begin(agent, { key, enroll_token }, ""),
    );
  },
  "POST /v1/identity/enrollments/{enrollment_id}/complete": async (api) => {
    const { begin, complete, prove } = enrolling(api);
    const [agent, key] = [await newAgent(api), await newKey()];
    const { enrollment_id: id, challenge } = (await begin(agent, { key })).body;
    const proof = await prove(agent, key, challenge);
    return inTurn(
      () => complete(id, "x"),
      () => complete(id, proof),
      () => complete(id, proof),
    );
  },
  "GET /v1/identity/agents/{name}": async (api) => {
    const { identity: read } = enrolling(api);
    const first = await read(clerk);
    return inTurn(
      async () => first,
      () => read(clerk, { "if-none-match": first.headers.get("etag") ?? "" }),
    );
  },
  "GET /v1/identity/agents/by-id/{agent_id}": async (api) => {
    const id = await agentId(api);
    return inTurn(() => identity(api, "GET", `/v1/identity/agents/by-id/${id}`));
  },
  "POST /v1/agents/{agent_id}/revoke": async (api) => {
    const id = await agentId(api, await newAgent(api));
    return inTurn(() => admin(api, "POST", `/v1/agents/${id}/revoke`, { reason: "gone" }));
  },
  "GET /v1/identity/revocations": async (api) => {
    await admin(api, "POST", `/v1/agents/${await agentId(api, await newAgent(api))}/revoke`, {});
    return inTurn(() => identity(api, "GET", "/v1/identity/revocations?limit=1"));
  },
};

const open =
  (path: string): Example =>
  (api) =>
    inTurn(() => api.call("GET", path));

/** By operation, as the document names it. */
export const examples: Readonly<Record<string, Example>> = {
  ...registration,
  ...sessions,
  ...hopRoutes,
  ...audits,
  ...emergencies,
  ...identities,
  "GET /.well-known/jwks.json": open("/.well-known/jwks.json"),
  "GET /.well-known/oauth-authorization-server": open("/.well-known/oauth-authorization-server"),
  "GET /livez": open("/livez"),
  "GET /readyz": open("/readyz"),
  "GET /metrics": open("/metrics"),
  "GET /openapi.json": open("/openapi.json"),
  "GET /docs": open("/docs"),
};
