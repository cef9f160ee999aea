import type { AgentManifestDocument, ManifestStatus } from "@svc/core";
import {
  type AgentListItem,
  type AgentRegistration,
  agentListItem,
  type ManifestRead,
  manifestRead,
  type ReconciliationReport,
  reconciliationReport,
  registration,
  resolvedAgent,
  type ScopeCatalog,
  scopeCatalog,
} from "./admin-bodies.ts";
import { type Page, type PageQuery, pageOf } from "./pages.ts";
import { type CallOptions, type Plane, segment } from "./plane.ts";

/** An agent's first manifest. */
export interface RegisterAgent {
  readonly name: string;
  /** In wire spelling; stored and read back exactly as it is here. */
  readonly manifest: AgentManifestDocument;
  /** Accepts a manifest of which nothing could be discovered, and stands in the record as a person's attestation. */
  readonly overrideReason?: string | undefined;
}

/** A further manifest version of a registered agent. */
export interface SubmitManifest extends Omit<RegisterAgent, "name"> {
  readonly agent: string;
}

/** Registers agents and reads what they may do (specification: Endpoints), under the admin bearer. */
export interface AdminPlane {
  /** `POST /v1/agents`. @throws {ManifestRejected} where it conflicts with what was discovered, or nothing could be */
  registerAgent(agent: RegisterAgent, options?: CallOptions): Promise<AgentRegistration>;
  /** `POST /v1/manifests`: a further version. @throws {ManifestRejected} as for a first one */
  submitManifest(submission: SubmitManifest, options?: CallOptions): Promise<AgentRegistration>;
  /** `GET /v1/manifests/{scope}`: the newest accepted one, unless `version` pins one. */
  manifest(
    scope: string,
    query?: { readonly version?: number | undefined; readonly agent?: string | undefined },
    options?: CallOptions,
  ): Promise<ManifestRead>;
  /** `GET /v1/agents`, by name. `status` is matched against the latest submission's. */
  agents(
    query?: PageQuery & { readonly status?: ManifestStatus | undefined },
    options?: CallOptions,
  ): Promise<Page<AgentListItem>>;
  /** `GET /v1/agents/resolve`: the id behind a name. */
  agentId(name: string, options?: CallOptions): Promise<string>;
  /** `GET /v1/agents/{agent_id}/reconciliation`: the most recent one. */
  reconciliation(agentId: string, options?: CallOptions): Promise<ReconciliationReport>;
  /** `GET /v1/scopes/{scope}/catalog`: the current version, unless `version` pins one. */
  scopeCatalog(
    scope: string,
    query?: { readonly version?: number | undefined },
    options?: CallOptions,
  ): Promise<ScopeCatalog>;
}

const override = (reason: string | undefined) => reason !== undefined && { override: { reason } };

export function adminPlane(plane: Plane): AdminPlane {
  const get = { method: "GET" } as const;
  const submission = { method: "POST", expected: 201 } as const;
  return {
    registerAgent: ({ name, manifest, overrideReason }, options) => {
      const body = { name, manifest, ...override(overrideReason) };
      return plane.ask({ ...submission, path: "/v1/agents", body }, registration, options);
    },
    submitManifest: ({ agent, manifest, overrideReason }, options) => {
      const body = { agent, manifest, ...override(overrideReason) };
      return plane.ask({ ...submission, path: "/v1/manifests", body }, registration, options);
    },
    manifest: async (scope, { version, agent } = {}, options) =>
      plane.ask({ ...get, path: `/v1/manifests/${segment(scope)}`, query: { version, agent } }, manifestRead, options),
    agents: ({ limit, cursor, status } = {}, options) =>
      plane.ask({ ...get, path: "/v1/agents", query: { limit, cursor, status } }, pageOf(agentListItem), options),
    agentId: async (name, options) => {
      const agent = await plane.ask({ ...get, path: "/v1/agents/resolve", query: { name } }, resolvedAgent, options);
      return agent.agent_id;
    },
    reconciliation: async (agentId, options) =>
      plane.ask({ ...get, path: `/v1/agents/${segment(agentId)}/reconciliation` }, reconciliationReport, options),
    scopeCatalog: async (scope, { version } = {}, options) =>
      plane.ask({ ...get, path: `/v1/scopes/${segment(scope)}/catalog`, query: { version } }, scopeCatalog, options),
  };
}
