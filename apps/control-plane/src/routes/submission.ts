import { type AgentManifest, agentRegistration } from "@svc/core";
import { memberText } from "@svc/tokens";
import type { SubmitManifest, Submitted } from "../commands/manifest/submit-manifest.ts";
import { ApiError } from "../http/api-error.ts";
import { requireKind } from "../http/require-kind.ts";

/** What registering an agent and submitting a further manifest have in common. */

export const submissionReply = {
  status: 201,
  description: "Accepted: a new manifest version; its scopes are compiled.",
  schema: agentRegistration,
};
export const submissionErrors = [
  "needs_review",
  "reconciliation_rejected",
  "policy_too_large",
  "database_unavailable",
] as const;

interface SubmissionBody {
  readonly manifest: AgentManifest;
  readonly override?: { readonly reason?: string | undefined } | undefined;
}

export const toSubmission = (body: SubmissionBody, bodyText: string, submittedBy: string) => ({
  manifest: body.manifest,
  // Stored as text, since no re-serialisation would read back as submitted (docs/reference/manifest.md#the-document).
  doc: memberText(bodyText, "manifest") ?? "",
  override: body.override && { reason: body.override.reason ?? null },
  submittedBy,
});

/** @throws {ApiError} for everything but an accepted version. */
export function accepted({ agent }: Pick<SubmitManifest, "agent">, result: Submitted) {
  const { agentId, version, status } = requireKind(result, "accepted", {
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
