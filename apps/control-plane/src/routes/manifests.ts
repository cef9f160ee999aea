import {
  type AgentManifest,
  agentCreate,
  agentRegistration,
  manifestCreate,
  manifestQuery,
  manifestRead,
} from "@svc/core";
import { memberText, withMemberText } from "@svc/tokens";
import { type SubmitManifest, type Submitted, submitManifest } from "../commands/manifest/submit-manifest.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { jsonHeaders } from "../http/json-response.ts";
import { requireKind } from "../http/require-kind.ts";
import { routesOf } from "../http/routes.ts";
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

  route("GET /v1/manifests/{scope}", {
    access: "admin",
    summary: "Read the manifest that touches a scope.",
    query: manifestQuery,
    reply: { description: "The manifest version.", schema: manifestRead },
    errors: ["scope_not_found", "manifest_version_not_found", "database_unavailable"],
    handle: async ({ params: { scope }, query: { version, agent } }) =>
      new Response(manifestText(await findManifest(deps, { scope, version, agent })), { headers: jsonHeaders }),
  });
}

interface SubmissionBody {
  readonly manifest: AgentManifest;
  readonly override?: { readonly reason?: string | undefined } | undefined;
}

const toSubmission = (body: SubmissionBody, bodyText: string, submittedBy: string) => ({
  manifest: body.manifest,
  // Stored as text, since no re-serialisation would read back as submitted (docs/reference/manifest.md#the-document).
  doc: memberText(bodyText, "manifest") ?? "",
  override: body.override && { reason: body.override.reason ?? null },
  submittedBy,
});

/** @throws {ApiError} for everything but an accepted version. */
async function submit(deps: Deps, command: SubmitManifest) {
  const { agent } = command;
  const { agentId, version, status } = requireKind(await submitManifest(deps, command), "accepted", {
    refused: refusal,
    agent_exists: `${agent} is registered: submit its manifest to /v1/manifests.`,
    agent_not_found: `${agent} was never registered: register it at /v1/agents.`,
    policy_too_large: ({ scope, branchingAgents }) =>
      new ApiError("policy_too_large", "A scope would have more than 10,000 delegation paths.", {
        details: { scope, branching_agents: branchingAgents },
      }),
  });
  return { agentId, manifestVersion: version, status };
}

const refusal = ({ status, diff }: Extract<Submitted, { kind: "refused" }>): ApiError =>
  status === "rejected"
    ? new ApiError("reconciliation_rejected", "The manifest contradicts what was discovered.", { details: { diff } })
    : new ApiError("needs_review", "Discovery gave no answer: a person must vouch for the manifest with an override.", {
        details: { diff },
      });

async function findManifest({ manifests }: Deps, query: ManifestQuery): Promise<StoredManifest> {
  const manifest = await manifests.find(query);
  if (manifest !== undefined) return manifest;
  const isPinned = query.version !== undefined;
  const isKnown = isPinned && (await manifests.find({ ...query, version: undefined })) !== undefined;
  throw isKnown
    ? new ApiError("manifest_version_not_found", "No manifest of this version touches the scope.")
    : new ApiError("scope_not_found", "No accepted manifest touches this scope.");
}

/** `doc` is the document's own text, unparsed: numbers, order and escapes as submitted. */
const manifestText = ({ agent, version, status, attestedBy, createdAtMs, doc }: StoredManifest): string =>
  withMemberText({ agent, version, status, attested_by: attestedBy, created_at: iso(createdAtMs) }, "doc", doc);
