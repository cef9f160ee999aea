import type { TestDatabase } from "@svc/test-support";
import type { Api } from "../api.ts";
import { exchangeGrant } from "../api.ts";
import type { Operation } from "../document.ts";
import { enrolling, newKey } from "../enrollment.ts";
import { agentId, anAction, clerk, endSession, hops, newAgent, newName, scope } from "../examples/base.ts";
import { besideOf, guarded, heldHandle } from "../handles.ts";
import { clerkSession } from "../ledger.ts";

/** A valid request of an operation, to which attacks are applied. */
export interface Base {
  readonly params: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** Undefined for the plane's own bearer, or none. */
  readonly bearer?: string;
  /** Members of a JSON body, fields of a form. */
  readonly body?: Readonly<Record<string, unknown>>;
}

/** The database is for what no request of a deployment without a provider makes. */
type MakeBase = (api: Api, database: TestDatabase) => Promise<Base>;

const withBody =
  (body: () => Record<string, unknown>): MakeBase =>
  async () => ({ params: {}, body: body() });
const withParams =
  (params: (api: Api) => Promise<Record<string, string>>): MakeBase =>
  async (api) => ({ params: await params(api) });

const manifest = () => ({
  scopes: { [newName()]: { hop_budget: 2, tools: [{ ref: "http:documented/aside", data_classes: ["web"] }] } },
});

/** The person's allow at hop 1, and the token to spend with it. */
async function allowOf(api: Api) {
  const { session, token } = await api.consent(scope);
  const { action_id } = (await api.authorize(session, token, hops.planner)).body;
  const body = {
    ...exchangeGrant,
    subject_token: token,
    resource: hops.planner.target,
    scope: hops.planner.data_class,
    action_id,
    taint: "trusted_internal",
  };
  return { session, base: { params: {}, body } };
}

async function mintOf(api: Api) {
  const { session, clerk: held } = await clerkSession(api, scope);
  const { token, action } = await api.hop(session, held.token, hops.post);
  return {
    session,
    base: { params: {}, bearer: token, body: { action_id: action, params: { amount: 1, to: ["x"] } } },
  };
}

/** After the session's end, for refusals by the present state. */
async function ended({ session, base }: { session: string; base: Base }, api: Api): Promise<Base> {
  await endSession(api, session);
  return base;
}

async function enrollmentOf(api: Api): Promise<Base> {
  const { begin, prove } = enrolling(api);
  const [agent, key] = [await newAgent(api), await newKey()];
  const { enrollment_id, challenge } = (await begin(agent, { key })).body;
  return { params: { enrollment_id }, body: { proof: await prove(agent, key, challenge) } };
}

/** Of the sign-in that the test inserted. */
const signInId = async (api: Api): Promise<string> =>
  (await api.call("GET", "/v1/sign-ins", { bearer: api.tokens.audit })).body.data[0].sign_in_id;
const session = async (api: Api) => ({ session_id: (await api.consent(scope)).session });
const block = async () => ({ kind: "tool", ref: newName() });

/** By operation; operations that need only a bearer have none. The first of each succeeds on a working service. */
const bases: Readonly<Record<string, readonly MakeBase[]>> = {
  "POST /v1/agents": [
    withBody(() => ({ name: newName(), manifest: manifest(), override: { reason: "seen" } })),
    withBody(() => ({ name: newName(), manifest: manifest() })),
  ],
  "POST /v1/manifests": [
    async (api) => ({
      params: {},
      body: { agent: await newAgent(api), manifest: manifest(), override: { reason: "seen" } },
    }),
    async (api) => ({ params: {}, body: { agent: await newAgent(api), manifest: manifest() } }),
  ],
  "POST /v1/manifests/preview": [
    async (api) => ({
      params: {},
      body: { agent: await newAgent(api), manifest: manifest(), override: { reason: "seen" } },
    }),
  ],
  "POST /v1/audit/replay": [
    async (api) => {
      const filters = {
        scope: "hostile",
        acting_agent: "ada",
        since: "2026-01-01T00:00:00Z",
        until: "2036-01-01T00:00:00Z",
      };
      const candidate = { agent: await newAgent(api), manifest: { scopes: { hostile: { hop_budget: 2 } } } };
      return { params: {}, body: { ...candidate, ...filters } };
    },
  ],
  "GET /v1/audit/verdicts": [async () => ({ params: {}, query: { agent: clerk, target: hops.read.target } })],
  "GET /v1/agents/resolve": [async () => ({ params: {}, query: { name: clerk } })],
  "GET /v1/agents/{agent_id}/reconciliation": [withParams(async (api) => ({ agent_id: await agentId(api) }))],
  "GET /v1/manifests/{scope}": [withParams(async () => ({ scope }))],
  "GET /v1/scopes/{scope}/catalog": [withParams(async () => ({ scope }))],
  "POST /v1/consent": [
    async (api) => {
      const { policy_version } = (await api.consent(scope)).body;
      return { params: {}, body: { scope, user_sub: "ada", ttl_seconds: 600, policy_version } };
    },
  ],
  "POST /v1/authorize": [
    async (api) => {
      const { session: id, token } = await api.consent(scope);
      return {
        params: {},
        bearer: token,
        body: { session_id: id, ...hops.planner, taint: "trusted_internal", enforced: true },
      };
    },
  ],
  "POST /v1/hops": [
    async (api) => {
      const { session: id, token } = await api.consent(scope);
      return { params: {}, body: { session_id: id, token, ...hops.planner, body_settled: true } };
    },
  ],
  "POST /v1/token/exchange": [async (api) => (await allowOf(api)).base, async (api) => ended(await allowOf(api), api)],
  "POST /v1/token/renew": [
    async (api) => ({ params: {}, bearer: (await api.consent(scope)).token, body: { count: 2 } }),
  ],
  "POST /v1/token/transaction": [async (api) => (await mintOf(api)).base, async (api) => ended(await mintOf(api), api)],
  "GET /v1/session/targets": [async (api) => ({ params: {}, bearer: (await api.consent(scope)).token })],
  "POST /v1/sessions/revoke": [withBody(() => ({ user_sub: newName(), scope, reason: "over" }))],
  "GET /v1/sign-ins": [async () => ({ params: {}, query: { user_sub: "ada" } })],
  "POST /v1/sign-ins/{sign_in_id}/end": [
    async (api) => ({ params: { sign_in_id: await signInId(api) }, body: { reason: "over" } }),
  ],
  "POST /v1/sign-ins/end": [withBody(() => ({ user_sub: newName(), reason: "over" }))],
  "GET /v1/sinks": [async () => ({ params: {} })],
  "POST /v1/sinks/{sink}/replay": [
    async () => ({ params: { sink: "webhook" }, body: { since: "2026-01-31T08:00:00Z" } }),
  ],
  "GET /v1/sessions/{session_id}": [withParams(session)],
  "POST /v1/sessions/{session_id}/revoke": [async (api) => ({ params: await session(api), body: { reason: "over" } })],
  "PUT /v1/blocks/{kind}/{ref}": [
    async () => ({ params: await block(), body: { reason: "hostile", until: "2999-01-31T12:00:00Z" } }),
  ],
  "DELETE /v1/blocks/{kind}/{ref}": [withParams(block)],
  "POST /v1/keys/rotate": [withBody(() => ({ now: false }))],
  // The next key, so that the active one stays.
  "DELETE /v1/keys/{kid}": [
    withParams(async (api) => {
      const rotated = await api.call("POST", "/v1/keys/rotate", { bearer: api.tokens.admin, body: {} });
      return { kid: rotated.body.kid };
    }),
  ],
  "POST /v1/issuer-epoch": [withBody(() => ({ reason: "restored" }))],
  "GET /v1/audit/actions/{action_id}/chain": [withParams(async (api) => ({ action_id: await anAction(api) }))],
  "GET /v1/audit/actions/{action_id}/explanation": [withParams(async (api) => ({ action_id: await anAction(api) }))],
  "POST /v1/identity/enrollments": [
    async (api) => ({
      params: {},
      body: { agent: await newAgent(api), jwk: (await newKey()).publicJwk, claims: { team: "x", deep: [{ n: 1 }] } },
    }),
  ],
  "POST /v1/identity/enrollments/{enrollment_id}/complete": [enrollmentOf],
  "POST /v1/identity/enroll-tokens": [withBody(() => ({ agent: clerk, ttl_seconds: 600 }))],
  "GET /v1/identity/agents/{name}": [withParams(async () => ({ name: clerk }))],
  "GET /v1/identity/agents/by-id/{agent_id}": [withParams(async (api) => ({ agent_id: await agentId(api) }))],
  "POST /v1/agents/{agent_id}/revoke": [
    async (api) => ({ params: { agent_id: await agentId(api, await newAgent(api)) }, body: { reason: "gone" } }),
  ],
  "POST /v1/agents/{agent_id}/lift-quarantine": [
    async (api) => ({ params: { agent_id: await agentId(api, await newAgent(api)) }, body: { reason: "mended" } }),
  ],
  "POST /v1/handles/redeem": [
    async (api, database) => {
      const { handle } = await heldHandle(api, database, { scope, agent: hops.planner.target });
      return { params: {}, body: { handle, resource: guarded } };
    },
  ],
  "POST /v1/session/consents": [
    async (api, database) => {
      const { session: id, token: root } = await api.consent(scope);
      const { token } = await api.hop(id, root, hops.planner);
      await besideOf(api, database, { session: id, agent: hops.planner.target, scope });
      return { params: {}, body: { token } };
    },
  ],
};

const ofNothing: readonly MakeBase[] = [async () => ({ params: {} })];

/** @throws {Error} where an operation needs more than a bearer and has no entry here. */
export function basesOf({ name, path, bodyType }: Operation): readonly MakeBase[] {
  const made = bases[name];
  if (made === undefined && (bodyType !== undefined || path.includes("{"))) {
    throw new Error(`there is no base of ${name}: write one`);
  }
  return made ?? ofNothing;
}

/** In an order that keeps each operation's prerequisites: the epoch ends every session and token. */
export const inOrder = (operations: readonly Operation[]): readonly Operation[] =>
  operations.toSorted((one, other) => Number(endsAll(one)) - Number(endsAll(other)));

const endsAll = ({ path }: Operation): boolean => path === "/v1/issuer-epoch";
