import { manifestCreate, manifestQuery, manifestRead } from "@svc/core";
import { withMemberText } from "@svc/tokens";
import { submitManifest } from "../commands/manifest/submit-manifest.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import type { ManifestQuery, StoredManifest } from "../ports/manifests.ts";
import type { Deps } from "./deps.ts";
import { answerSubmission, submissionErrors, submissionReplies, toSubmission } from "./submission.ts";

const tag = "Manifests";

export function manifestRoutes(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "post",
      path: "/v1/manifests",
      access: "admin",
      tag,
      summary: "Submit a further manifest version of a registered agent.",
      body: manifestCreate,
      replies: submissionReplies,
      errors: ["agent_not_found", ...submissionErrors],
    },
    async ({ c, caller, body, bodyText }) => {
      const submission = toSubmission(body, bodyText, caller.label);
      const command = { ...submission, place: "next", agent: body.agent } as const;
      return answerSubmission(c, command, await submitManifest(deps, command));
    },
  );

  mount(
    app,
    deps,
    {
      method: "get",
      path: "/v1/manifests/{scope}",
      access: "admin",
      tag,
      summary: "Read the manifest that touches a scope.",
      query: manifestQuery,
      replies: { 200: { description: "The manifest version.", schema: manifestRead } },
      errors: ["scope_not_found", "manifest_version_not_found", "database_unavailable"],
    },
    async ({ c, params: { scope }, query: { version, agent } }) => {
      const manifest = await findManifest(deps, { scope, version, agent });
      return c.body(toManifestRead(manifest), 200, {
        "Content-Type": "application/json",
      });
    },
  );
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

/** The document's own text stands in the answer, unparsed. */
const toManifestRead = (manifest: StoredManifest): string =>
  withMemberText(
    {
      agent: manifest.agent,
      version: manifest.version,
      status: manifest.status,
      attested_by: manifest.attestedBy,
      created_at: new Date(manifest.createdAtMs).toISOString(),
    },
    "doc",
    manifest.doc,
  );
