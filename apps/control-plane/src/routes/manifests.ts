import { manifestCreate, manifestQuery, manifestRead } from "@svc/core";
import { withMemberText } from "@svc/tokens";
import { submitManifest } from "../commands/manifest/submit-manifest.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { jsonHeaders } from "../http/json-response.ts";
import { route } from "../http/route.ts";
import { iso } from "../http/times.ts";
import type { ManifestQuery, StoredManifest } from "../ports/manifests.ts";
import type { Deps } from "./deps.ts";
import { accepted, submissionErrors, submissionReply, toSubmission } from "./submission.ts";

const tag = "Manifests";

export function manifestRoutes(app: App, deps: Deps): void {
  route(app, deps, "POST /v1/manifests", {
    access: "admin",
    tag,
    summary: "Submit a further manifest version of a registered agent.",
    body: manifestCreate,
    reply: submissionReply,
    errors: ["agent_not_found", ...submissionErrors],
    handle: async ({ caller, body, bodyText }) => {
      const submission = toSubmission(body, bodyText, caller.label);
      const command = { ...submission, place: "next", agent: body.agent } as const;
      return accepted(command, await submitManifest(deps, command));
    },
  });

  route(app, deps, "GET /v1/manifests/{scope}", {
    access: "admin",
    tag,
    summary: "Read the manifest that touches a scope.",
    query: manifestQuery,
    reply: { description: "The manifest version.", schema: manifestRead },
    errors: ["scope_not_found", "manifest_version_not_found", "database_unavailable"],
    handle: async ({ params: { scope }, query: { version, agent } }) =>
      new Response(manifestText(await findManifest(deps, { scope, version, agent })), { headers: jsonHeaders }),
  });
}

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
