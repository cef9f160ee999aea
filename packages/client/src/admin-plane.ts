import * as core from "@svc/core";
import { memberText } from "@svc/tokens";
import type { BlockRead, SessionRead, SignInRead, SinkRead } from "./audit-plane.ts";
import {
  type BodyOf,
  type CallOptions,
  JsonText,
  type Page,
  type PageQuery,
  type Plane,
  type RequestBody,
  segment,
} from "./plane.ts";

/** An accepted manifest version. `attested`: accepted by an override. */
export type AgentRegistration = BodyOf<typeof core.agentRegistration>;
/** A manifest version; `doc` as it was submitted, in wire spelling. */
export interface ManifestRead extends BodyOf<typeof core.manifestRead> {
  /** The same as text, byte for byte: submitted as `manifestJson` it is stored as it was. */
  readonly docJson: string;
}
/** One agent, and the result of its latest submission. */
export type AgentListItem = BodyOf<typeof core.agentListItem>;
/** What submitting a manifest would find. */
export type ManifestPreview = BodyOf<typeof core.manifestPreview>;
/** The outcome of an agent's most recent submission. */
export type ReconciliationReport = BodyOf<typeof core.reconciliationReport>;
/** What consenting to a scope grants. */
export type ScopeCatalog = BodyOf<typeof core.scopeCatalog>;
/** A signing key of the issuer. */
export type IssuerKey = BodyOf<typeof core.issuerKey>;
/** The key that signs next, and from when on. */
export type KeyRotation = BodyOf<typeof core.keyRotation>;
/** The new epoch: tokens issued before `notBefore` are refused. */
export type IssuerEpoch = BodyOf<typeof core.issuerEpoch>;

/** An agent's first manifest. */
export interface RegisterAgent {
  readonly name: string;
  /** In wire spelling; stored and read back exactly as it is here. */
  readonly manifest: core.AgentManifestDocument;
  /** The same as JSON text, which is then sent and stored byte for byte. */
  readonly manifestJson?: string | undefined;
  /** Attests a manifest of which nothing could be discovered, for the record; null: without a reason. */
  readonly overrideReason?: string | null | undefined;
}

/** A further manifest version of a registered agent. */
export interface SubmitManifest extends Omit<RegisterAgent, "name"> {
  readonly agent: string;
}

/** What an emergency block denies: a tool, an agent or a scope, by its name. */
export interface Blocked {
  readonly kind: core.BlockKind;
  readonly ref: string;
}

/** Why a person did it; the record keeps it. */
export interface Reason {
  readonly reason?: string | undefined;
}

/**
 * Registers agents, ends sessions, blocks targets and rotates keys (docs/reference/routes.md#planes-and-bearers), under
 * the admin bearer.
 */
export interface AdminPlane {
  /** `POST /v1/agents`. @throws {ManifestRejected} where it conflicts with what was discovered, or nothing could be */
  registerAgent(agent: RegisterAgent, options?: CallOptions): Promise<AgentRegistration>;
  /** `POST /v1/manifests`: a further version. @throws {ManifestRejected} as for a first one */
  submitManifest(submission: SubmitManifest, options?: CallOptions): Promise<AgentRegistration>;
  /** `POST /v1/manifests/preview`: what submitting it would find now; nothing is stored. */
  previewManifest(submission: SubmitManifest, options?: CallOptions): Promise<ManifestPreview>;
  /** `GET /v1/manifests/{scope}`: the newest accepted one, unless `version` pins one. */
  manifest(scope: string, query?: RequestBody<typeof core.manifestQuery>, options?: CallOptions): Promise<ManifestRead>;
  /** `GET /v1/agents`, by name. `status` is matched against the latest submission's. */
  agents(query?: RequestBody<typeof core.agentsQuery>, options?: CallOptions): Promise<Page<AgentListItem>>;
  /** `GET /v1/agents/resolve`: the id behind a name. */
  agentId(name: string, options?: CallOptions): Promise<string>;
  /** `GET /v1/agents/{agent_id}/reconciliation`: the most recent one. */
  reconciliation(agentId: string, options?: CallOptions): Promise<ReconciliationReport>;
  /** `GET /v1/scopes/{scope}/catalog`: the current version, unless `version` pins one. */
  scopeCatalog(
    scope: string,
    query?: RequestBody<typeof core.scopeCatalogQuery>,
    options?: CallOptions,
  ): Promise<ScopeCatalog>;
  /** `POST /v1/sessions/{session_id}/revoke`: idempotent. */
  revokeSession(sessionId: string, why?: Reason, options?: CallOptions): Promise<SessionRead>;
  /** `POST /v1/sessions/revoke`: ends every running session that matches all filters, of which one must be given. */
  revokeSessions(filters: RequestBody<typeof core.sessionsRevoke>, options?: CallOptions): Promise<number>;
  /** `POST /v1/sign-ins/{sign_in_id}/end`: at once in every process, and idempotent. */
  endSignIn(signInId: string, why?: Reason, options?: CallOptions): Promise<SignInRead>;
  /** `POST /v1/sign-ins/end`: all of a person; how many ran. */
  endSignIns(whose: RequestBody<typeof core.signInsEnd>, options?: CallOptions): Promise<number>;
  /** `POST /v1/sinks/{sink}/replay`: delivers again what was recorded since. */
  replaySink(sink: core.SinkName, since: string | Date, options?: CallOptions): Promise<SinkRead>;
  /** `PUT /v1/blocks/{kind}/{ref}`: denied from the next decision on, until `until` where it is given. */
  setBlock(
    block: Blocked & { readonly reason: string; readonly until?: string | Date | null | undefined },
    options?: CallOptions,
  ): Promise<BlockRead>;
  /** `DELETE /v1/blocks/{kind}/{ref}`: idempotent. */
  liftBlock(block: Blocked, options?: CallOptions): Promise<void>;
  /** `GET /v1/keys`: the published ones, oldest first. */
  issuerKeys(query?: PageQuery, options?: CallOptions): Promise<Page<IssuerKey>>;
  /** `POST /v1/keys/rotate`: the next key signs in ten minutes, or at once. */
  rotateKey(when?: { readonly now?: boolean | undefined }, options?: CallOptions): Promise<KeyRotation>;
  /** `DELETE /v1/keys/{kid}`: refuses at once what the key signed. */
  removeKey(kid: string, options?: CallOptions): Promise<void>;
  /** `POST /v1/issuer-epoch`, after a restore: refuses earlier tokens, replaces every key, ends every session. */
  raiseIssuerEpoch(why?: Reason, options?: CallOptions): Promise<IssuerEpoch>;
}

const submitted = ({ manifest, manifestJson, overrideReason: reason }: Omit<RegisterAgent, "name">) => ({
  manifest: manifestJson === undefined ? manifest : new JsonText(manifestJson),
  ...(reason !== undefined && { override: reason === null ? {} : { reason } }),
});

const blockPath = ({ kind, ref }: Blocked): string => `/v1/blocks/${segment(kind)}/${segment(ref)}`;

export const adminPlane = ({ get, getWithText, post, create, put, remove }: Plane): AdminPlane => ({
  registerAgent: async ({ name, ...submission }, options) =>
    create("/v1/agents", core.agentRegistration, options, { name, ...submitted(submission) }),
  submitManifest: async ({ agent, ...submission }, options) =>
    create("/v1/manifests", core.agentRegistration, options, { agent, ...submitted(submission) }),
  previewManifest: async ({ agent, ...submission }, options) =>
    post("/v1/manifests/preview", core.manifestPreview, options, { agent, ...submitted(submission) }),
  manifest: async (scope, query, options) => {
    const { read, text } = await getWithText(`/v1/manifests/${segment(scope)}`, core.manifestRead, options, query);
    return { ...read, docJson: memberText(text, "doc") ?? "" };
  },
  agents: (query, options) => get("/v1/agents", core.agentPage, options, query),
  agentId: async (name, options) => (await get("/v1/agents/resolve", core.resolvedAgent, options, { name })).agentId,
  reconciliation: async (agentId, options) =>
    get(`/v1/agents/${segment(agentId)}/reconciliation`, core.reconciliationReport, options),
  scopeCatalog: async (scope, query, options) =>
    get(`/v1/scopes/${segment(scope)}/catalog`, core.scopeCatalog, options, query),
  revokeSession: async (sessionId, why = {}, options) =>
    post(`/v1/sessions/${segment(sessionId)}/revoke`, core.sessionRead, options, why),
  revokeSessions: async (filters, options) =>
    (await post("/v1/sessions/revoke", core.sessionsRevoked, options, filters)).revoked,
  endSignIn: async (signInId, why = {}, options) =>
    post(`/v1/sign-ins/${segment(signInId)}/end`, core.signInRead, options, why),
  endSignIns: async (whose, options) => (await post("/v1/sign-ins/end", core.signInsEnded, options, whose)).ended,
  replaySink: async (sink, since, options) =>
    post(`/v1/sinks/${segment(sink)}/replay`, core.sinkRead, options, { since }),
  setBlock: async ({ kind, ref, ...body }, options) => put(blockPath({ kind, ref }), core.blockRead, options, body),
  liftBlock: async (block, options) => remove(blockPath(block), options),
  issuerKeys: (query, options) => get("/v1/keys", core.issuerKeyPage, options, query),
  rotateKey: (when = {}, options) => post("/v1/keys/rotate", core.keyRotation, options, when),
  removeKey: async (kid, options) => remove(`/v1/keys/${segment(kid)}`, options),
  raiseIssuerEpoch: (why = {}, options) => post("/v1/issuer-epoch", core.issuerEpoch, options, why),
});
