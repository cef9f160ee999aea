import { type AgentManifest, agentRegistration, type reasonRequest } from "@svc/core";
import { memberText } from "@svc/tokens";
import type { Context } from "hono";
import type { z } from "zod";
import type { SubmitManifest, Submitted } from "../commands/manifest/submit-manifest.ts";
import { ApiError } from "../http/api-error.ts";

/** What registering an agent and submitting a further manifest have in common. */

export const submissionReplies = {
  201: { description: "Accepted: a new manifest version; its scopes are compiled.", schema: agentRegistration },
};
export const submissionErrors = [
  "needs_review",
  "reconciliation_rejected",
  "policy_too_large",
  "database_unavailable",
] as const;

interface SubmissionBody {
  readonly manifest: AgentManifest;
  readonly override?: z.output<typeof reasonRequest> | undefined;
}

export const toSubmission = (body: SubmissionBody, bodyText: string, submittedBy: string) => ({
  manifest: body.manifest,
  // Stored as text, since no re-serialisation would read back as submitted (contract: AgentManifest).
  doc: memberText(bodyText, "manifest") ?? "",
  override: body.override && { reason: body.override.reason ?? null },
  submittedBy,
});

/** @throws {ApiError} for everything but an accepted version. */
export function answerSubmission(c: Context, { agent }: Pick<SubmitManifest, "agent">, result: Submitted): Response {
  switch (result.kind) {
    case "accepted":
      return c.json({ agent_id: result.agentId, manifest_version: result.version, status: result.status }, 201);
    case "refused":
      throw refusal(result);
    case "agent_exists":
      throw new ApiError("agent_exists", `${agent} is registered: submit its manifest to /v1/manifests.`);
    case "agent_not_found":
      throw new ApiError("agent_not_found", `${agent} was never registered: register it at /v1/agents.`);
    case "policy_too_large":
      throw new ApiError("policy_too_large", "A scope would have more than 10,000 delegation paths.", {
        details: { scope: result.scope, branching_agents: result.branchingAgents },
      });
  }
}

const refusal = ({ status, diff }: Extract<Submitted, { kind: "refused" }>): ApiError =>
  status === "rejected"
    ? new ApiError("reconciliation_rejected", "The manifest contradicts what was discovered.", { details: { diff } })
    : new ApiError("needs_review", "Discovery gave no answer: a person must vouch for the manifest with an override.", {
        details: { diff },
      });
