import {
  type AgentSummary,
  agentPage,
  agentsQuery,
  reconciliationReport,
  resolveAgentQuery,
  resolvedAgent,
} from "@svc/core";
import { isUuid } from "../commands/identifier.ts";
import { ApiError } from "../http/api-error.ts";
import { type App, type ListRequest, routesOf } from "../http/routes.ts";
import { withTimes } from "../http/times.ts";
import type { Deps } from "./deps.ts";

export function agentRoutes(app: App, deps: Deps): void {
  const { route, list } = routesOf(app, deps, "Agents");
  list("GET /v1/agents", {
    ...agentReads(deps),
    access: "admin",
    summary: "List agents by name.",
    page: agentPage,
    item: ({ agentId: id, latestVersion, ...agent }) => ({ ...agent, id, latestManifestVersion: latestVersion }),
  });

  route("GET /v1/agents/resolve", {
    access: "admin",
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

  route("GET /v1/agents/{agent_id}/reconciliation", {
    access: "admin",
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

export const agentReads = ({ manifests }: Deps) => ({
  query: agentsQuery,
  rows: ({ query: { status }, after, limit }: ListRequest<typeof agentsQuery>) =>
    manifests.listAgents({ status, after, limit }),
  position: ({ name }: AgentSummary) => name,
});

export const agentNotFound = (): ApiError => new ApiError("agent_not_found", "There is no such agent.");
