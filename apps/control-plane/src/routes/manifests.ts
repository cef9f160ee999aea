import {
  agentCreate,
  agentRegistration,
  manifestCreate,
  manifestPreview,
  manifestQuery,
  manifestRead,
  type PolicyIndex,
  type ScopeSummary,
  scopeCatalog,
  scopeCatalogQuery,
  scopePage,
  scopesQuery,
  toCatalog,
} from "@svc/core";
import { memberText, withMemberText } from "@svc/tokens";
import type { BodyOf } from "../commands/deps.ts";
import { previewManifest, type SubmitManifest, submitManifest } from "../commands/manifest/submit-manifest.ts";
import { ApiError, requireKind } from "../http/api-error.ts";
import { type App, jsonResponse, type ListRequest, routesOf } from "../http/routes.ts";
import { iso } from "../http/times.ts";
import type { ManifestQuery, StoredManifest } from "../ports/manifests.ts";
import type { Deps } from "./deps.ts";

const submissionReply = {
  status: 201,
  description: "Accepted: a new manifest version; its scopes are compiled.",
  schema: agentRegistration,
};
const submissionErrors = [
  "needs_review",
  "reconciliation_rejected",
  "policy_too_large",
  "database_unavailable",
] as const;

export function registrationRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Agents");
  route("POST /v1/agents", {
    access: "admin",
    summary: "Register an agent with its first manifest version.",
    body: agentCreate,
    reply: submissionReply,
    errors: ["agent_exists", ...submissionErrors],
    handle: ({ caller, body, bodyText }) =>
      submit(deps, { ...toSubmission(body, bodyText, caller.label), place: "first", agent: body.name }),
  });
}

export function manifestRoutes(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Manifests");
  route("POST /v1/manifests", {
    access: "admin",
    summary: "Submit a further manifest version of a registered agent.",
    body: manifestCreate,
    reply: submissionReply,
    errors: ["agent_not_found", ...submissionErrors],
    handle: ({ caller, body, bodyText }) =>
      submit(deps, { ...toSubmission(body, bodyText, caller.label), place: "next", agent: body.agent }),
  });

  route("POST /v1/manifests/preview", {
    access: "admin",
    summary: "Show what submitting a manifest would find now; nothing is stored.",
    body: manifestCreate,
    reply: { description: "The status it would have, and how its tools changed.", schema: manifestPreview },
    errors: ["database_unavailable"],
    handle: async ({ body: { agent, manifest, override } }) =>
      previewManifest(deps, { agent, manifest, override: override && { reason: override.reason ?? null } }),
  });

  route("GET /v1/manifests/{scope}", {
    access: "admin",
    summary: "Read the manifest that touches a scope.",
    query: manifestQuery,
    reply: { description: "The manifest version.", schema: manifestRead },
    errors: ["scope_not_found", "manifest_version_not_found", "database_unavailable"],
    handle: async ({ params: { scope }, query: { version, agent } }) =>
      jsonResponse(manifestText(await findManifest(deps, { scope, version, agent }))),
  });
}

type Submission = Pick<BodyOf<typeof manifestCreate>, "manifest" | "override">;

const toSubmission = ({ manifest, override }: Submission, bodyText: string, submittedBy: string) => ({
  manifest,
  // Stored as text, since no re-serialisation would read back as submitted (docs/reference/manifest.md#the-document).
  doc: memberText(bodyText, "manifest") ?? "",
  override: override && { reason: override.reason ?? null },
  submittedBy,
});

/** @throws {ApiError} for everything but an accepted version. */
async function submit(deps: Deps, command: SubmitManifest) {
  const { agent } = command;
  const { agentId, version, status } = requireKind(await submitManifest(deps, command), "accepted", {
    refused: ({ status, diff }) =>
      status === "rejected"
        ? new ApiError("reconciliation_rejected", "The manifest contradicts what was discovered.", {
            details: { diff },
          })
        : new ApiError("needs_review", noAnswer, { details: { diff } }),
    agent_exists: `${agent} is registered: submit its manifest to /v1/manifests.`,
    agent_not_found: `${agent} was never registered: register it at /v1/agents.`,
    policy_too_large: ({ scope, branchingAgents }) =>
      new ApiError("policy_too_large", "A scope would have more than 10,000 delegation paths.", {
        details: { scope, branching_agents: branchingAgents },
      }),
  });
  return { agentId, manifestVersion: version, status };
}

const noAnswer = "A person must vouch for the manifest with an override: each entry says what is not known.";

async function findManifest({ manifests }: Deps, query: ManifestQuery): Promise<StoredManifest> {
  const [manifest, ...others] = await manifests.find(query);
  if (manifest !== undefined && others.length === 0) return manifest;
  if (manifest !== undefined) {
    const agents = [manifest, ...others].map(({ agent }) => agent).join(", ");
    throw new ApiError("invalid_request", `Several agents have this version: add agent=, one of ${agents}.`);
  }
  const isKnown = query.version !== undefined && (await manifests.find({ ...query, version: undefined })).length > 0;
  throw isKnown
    ? new ApiError("manifest_version_not_found", "No manifest of this version touches the scope, or it was rejected.")
    : new ApiError("scope_not_found", "No accepted manifest touches this scope.");
}

/** `doc` is the document's own text, unparsed: numbers, order and escapes as submitted. */
const manifestText = ({ agent, version, status, attestedBy, createdAtMs, doc }: StoredManifest): string =>
  withMemberText({ agent, version, status, attested_by: attestedBy, created_at: iso(createdAtMs) }, "doc", doc);

export function scopeRoutes(app: App, deps: Deps): void {
  const { route, list } = routesOf(app, deps, "Scopes");
  list("GET /v1/scopes", {
    ...scopeReads(deps),
    access: "audit",
    summary: "List scopes by name, each with its newest policy.",
    page: scopePage,
    item: ({ compiledAtMs, ...scope }) => ({ ...scope, compiledAt: iso(compiledAtMs) }),
  });

  route("GET /v1/scopes/{scope}/catalog", {
    access: "admin",
    summary: "Show what consenting to a scope grants.",
    query: scopeCatalogQuery,
    reply: { description: "The compiled policy without its paths.", schema: scopeCatalog },
    errors: ["scope_not_found", "policy_version_not_found", "database_unavailable"],
    handle: async ({ params: { scope }, query: { version } }) =>
      jsonResponse(toCatalog((await findPolicy(deps, scope, version)).policy)),
  });
}

export const scopeReads = ({ audit }: Deps) => ({
  query: scopesQuery,
  rows: ({ query: { agent }, after, limit }: ListRequest<typeof scopesQuery>) => audit.scopes({ agent, after, limit }),
  position: ({ scope }: ScopeSummary) => scope,
});

async function findPolicy({ policies }: Deps, scope: string, version: number | undefined): Promise<PolicyIndex> {
  const latest = await policies.latest(scope);
  if (latest === undefined) throw new ApiError("scope_not_found", "Nothing is compiled for this scope.");
  const policy = await policies.pinned(scope, version ?? latest.version);
  if (policy === undefined) throw new ApiError("policy_version_not_found", "The scope has no policy of this version.");
  return policy;
}
