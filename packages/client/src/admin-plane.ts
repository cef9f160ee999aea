import {
  type AgentManifestDocument,
  agentPage,
  agentRegistration,
  type agentsQuery,
  type BlockKind,
  blockRead,
  issuerEpoch,
  issuerKeyPage,
  keyRotation,
  type manifestQuery,
  manifestRead,
  reconciliationReport,
  resolvedAgent,
  scopeCatalog,
  type scopeCatalogQuery,
  sessionRead,
  type sessionsRevoke,
  sessionsRevoked,
} from "@svc/core";
import type {
  AgentListItem,
  AgentRegistration,
  BlockRead,
  IssuerEpoch,
  IssuerKey,
  KeyRotation,
  ManifestRead,
  ReconciliationReport,
  RequestBody,
  ScopeCatalog,
  SessionRead,
} from "./bodies.ts";
import type { Page, PageQuery } from "./pages.ts";
import { type CallOptions, type Plane, segment } from "./plane.ts";

/** An agent's first manifest. */
export interface RegisterAgent {
  readonly name: string;
  /** In wire spelling; stored and read back exactly as it is here. */
  readonly manifest: AgentManifestDocument;
  /**
   * Accepts a manifest of which nothing could be discovered; the record keeps it as a person's attestation. Null:
   * without a reason.
   */
  readonly overrideReason?: string | null | undefined;
}

/** A further manifest version of a registered agent. */
export interface SubmitManifest extends Omit<RegisterAgent, "name"> {
  readonly agent: string;
}

/** What an emergency block denies: a tool, an agent or a scope, by its name. */
export interface Blocked {
  readonly kind: BlockKind;
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
  /** `GET /v1/manifests/{scope}`: the newest accepted one, unless `version` pins one. */
  manifest(scope: string, query?: RequestBody<typeof manifestQuery>, options?: CallOptions): Promise<ManifestRead>;
  /** `GET /v1/agents`, by name. `status` is matched against the latest submission's. */
  agents(query?: RequestBody<typeof agentsQuery>, options?: CallOptions): Promise<Page<AgentListItem>>;
  /** `GET /v1/agents/resolve`: the id behind a name. */
  agentId(name: string, options?: CallOptions): Promise<string>;
  /** `GET /v1/agents/{agent_id}/reconciliation`: the most recent one. */
  reconciliation(agentId: string, options?: CallOptions): Promise<ReconciliationReport>;
  /** `GET /v1/scopes/{scope}/catalog`: the current version, unless `version` pins one. */
  scopeCatalog(
    scope: string,
    query?: RequestBody<typeof scopeCatalogQuery>,
    options?: CallOptions,
  ): Promise<ScopeCatalog>;
  /** `POST /v1/sessions/{session_id}/revoke`: idempotent. */
  revokeSession(sessionId: string, why?: Reason, options?: CallOptions): Promise<SessionRead>;
  /** `POST /v1/sessions/revoke`: ends every running session that matches all filters, of which one must be given. */
  revokeSessions(filters: RequestBody<typeof sessionsRevoke>, options?: CallOptions): Promise<number>;
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

const override = (reason: string | null | undefined) =>
  reason !== undefined && { override: reason === null ? {} : { reason } };

export function adminPlane(plane: Plane): AdminPlane {
  const get = { method: "GET" } as const;
  const post = { method: "POST" } as const;
  const submit = { ...post, expected: 201 };
  const remove = { method: "DELETE" } as const;
  const blockPath = ({ kind, ref }: Blocked): string => `/v1/blocks/${segment(kind)}/${segment(ref)}`;
  return {
    registerAgent: async ({ name, manifest, overrideReason }, options) => {
      const body = { name, manifest, ...override(overrideReason) };
      return plane.request({ ...submit, path: "/v1/agents", body }, agentRegistration, options);
    },
    submitManifest: async ({ agent, manifest, overrideReason }, options) => {
      const body = { agent, manifest, ...override(overrideReason) };
      return plane.request({ ...submit, path: "/v1/manifests", body }, agentRegistration, options);
    },
    manifest: async (scope, query, options) =>
      plane.request({ ...get, path: `/v1/manifests/${segment(scope)}`, query }, manifestRead, options),
    agents: async (query, options) => plane.request({ ...get, path: "/v1/agents", query }, agentPage, options),
    agentId: async (name, options) => {
      const agent = await plane.request(
        { ...get, path: "/v1/agents/resolve", query: { name } },
        resolvedAgent,
        options,
      );
      return agent.agentId;
    },
    reconciliation: async (agentId, options) =>
      plane.request({ ...get, path: `/v1/agents/${segment(agentId)}/reconciliation` }, reconciliationReport, options),
    scopeCatalog: async (scope, query, options) =>
      plane.request({ ...get, path: `/v1/scopes/${segment(scope)}/catalog`, query }, scopeCatalog, options),
    revokeSession: async (sessionId, why = {}, options) =>
      plane.request({ ...post, path: `/v1/sessions/${segment(sessionId)}/revoke`, body: why }, sessionRead, options),
    revokeSessions: async (filters, options) => {
      const { revoked } = await plane.request(
        { ...post, path: "/v1/sessions/revoke", body: filters },
        sessionsRevoked,
        options,
      );
      return revoked;
    },
    setBlock: async ({ kind, ref, ...body }, options) =>
      plane.request({ method: "PUT", path: blockPath({ kind, ref }), body }, blockRead, options),
    liftBlock: async (block, options) => plane.send({ ...remove, path: blockPath(block) }, options),
    issuerKeys: async (query, options) => plane.request({ ...get, path: "/v1/keys", query }, issuerKeyPage, options),
    rotateKey: async (when = {}, options) =>
      plane.request({ ...post, path: "/v1/keys/rotate", body: when }, keyRotation, options),
    removeKey: async (kid, options) => plane.send({ ...remove, path: `/v1/keys/${segment(kid)}` }, options),
    raiseIssuerEpoch: async (why = {}, options) =>
      plane.request({ ...post, path: "/v1/issuer-epoch", body: why }, issuerEpoch, options),
  };
}
