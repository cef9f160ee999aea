import { agentCreate, agentPage, agentsQuery, reconciliationReport, resolveAgentQuery, resolvedAgent } from "@svc/core";
import { isUuid } from "../commands/identifier.ts";
import { submitManifest } from "../commands/manifest/submit-manifest.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { list } from "../http/list.ts";
import { route } from "../http/route.ts";
import { withTimes } from "../http/times.ts";
import type { Deps } from "./deps.ts";
import { accepted, submissionErrors, submissionReply, toSubmission } from "./submission.ts";

const tag = "Agents";

export function agentRoutes(app: App, deps: Deps): void {
  route(app, deps, "POST /v1/agents", {
    access: "admin",
    tag,
    summary: "Register an agent with its first manifest version.",
    body: agentCreate,
    reply: submissionReply,
    errors: ["agent_exists", ...submissionErrors],
    handle: async ({ caller, body, bodyText }) => {
      const submission = toSubmission(body, bodyText, caller.label);
      const command = { ...submission, place: "first", agent: body.name } as const;
      return accepted(command, await submitManifest(deps, command));
    },
  });

  list(app, deps, "GET /v1/agents", {
    access: "admin",
    tag,
    summary: "List agents by name.",
    query: agentsQuery,
    page: agentPage,
    errors: ["database_unavailable"],
    rows: ({ query: { status }, after, limit }) => deps.manifests.listAgents({ status, afterName: after, limit }),
    item: ({ agentId, name, latestVersion, latestStatus }) => ({
      id: agentId,
      name,
      latestManifestVersion: latestVersion,
      latestStatus,
    }),
    position: ({ name }) => name,
  });

  route(app, deps, "GET /v1/agents/resolve", {
    access: "admin",
    tag,
    summary: "Resolve an agent's name to its id.",
    query: resolveAgentQuery,
    reply: { description: "The agent.", schema: resolvedAgent },
    errors: ["agent_not_found", "database_unavailable"],
    handle: async ({ query: { name } }) => {
      const agentId = await deps.manifests.agentId(name);
      if (agentId === undefined) throw agentNotFound();
      return { agentId, name };
    },
  });

  route(app, deps, "GET /v1/agents/{agent_id}/reconciliation", {
    access: "admin",
    tag,
    summary: "Read an agent's most recent reconciliation.",
    reply: { description: "The report.", schema: reconciliationReport },
    errors: ["agent_not_found", "database_unavailable"],
    handle: async ({ params: { agentId } }) => {
      const report = isUuid(agentId) ? await deps.manifests.report(agentId) : undefined;
      if (report === undefined) throw agentNotFound();
      return withTimes(report);
    },
  });
}

export const agentNotFound = (): ApiError => new ApiError("agent_not_found", "There is no such agent.");
