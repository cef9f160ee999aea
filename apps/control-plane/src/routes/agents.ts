import { agentCreate, agentPage, agentsQuery, reconciliationReport, resolveAgentQuery, resolvedAgent } from "@svc/core";
import { isUuid } from "../commands/identifier.ts";
import { submitManifest } from "../commands/manifest/submit-manifest.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import { openPage, toPage } from "../http/page.ts";
import type { AgentSummary, StoredReport } from "../ports/manifests.ts";
import type { Deps } from "./deps.ts";
import { answerSubmission, submissionErrors, submissionReplies, toSubmission } from "./submission.ts";

const tag = "Agents";
const agents = "/v1/agents";

export function agentRoutes(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "post",
      path: agents,
      access: "admin",
      tag,
      summary: "Register an agent with its first manifest version.",
      body: agentCreate,
      replies: submissionReplies,
      errors: ["agent_exists", ...submissionErrors],
    },
    async ({ c, caller, body, bodyText }) => {
      const submission = toSubmission(body, bodyText, caller.label);
      const command = { ...submission, place: "first", agent: body.name } as const;
      return answerSubmission(c, command, await submitManifest(deps, command));
    },
  );

  mount(
    app,
    deps,
    {
      method: "get",
      path: agents,
      access: "admin",
      tag,
      summary: "List agents by name.",
      query: agentsQuery,
      replies: { 200: { description: "One page.", schema: agentPage } },
      errors: ["database_unavailable"],
    },
    async ({ c, query, rawQuery }) => {
      const asked = openPage(deps.cursorKey, agents, rawQuery, query);
      const rows = await deps.manifests.listAgents({
        status: query.status,
        afterName: asked.after,
        limit: asked.limit + 1,
      });
      return c.json(toPage(deps.cursorKey, asked, rows, toListItem, ({ name }) => name));
    },
  );

  mount(
    app,
    deps,
    {
      method: "get",
      path: "/v1/agents/resolve",
      access: "admin",
      tag,
      summary: "Resolve an agent's name to its id.",
      query: resolveAgentQuery,
      replies: { 200: { description: "The agent.", schema: resolvedAgent } },
      errors: ["agent_not_found", "database_unavailable"],
    },
    async ({ c, query: { name } }) => {
      const agentId = await deps.manifests.agentId(name);
      if (agentId === undefined) throw agentNotFound();
      return c.json({ agent_id: agentId, name });
    },
  );

  mount(
    app,
    deps,
    {
      method: "get",
      path: "/v1/agents/{agent_id}/reconciliation",
      access: "admin",
      tag,
      summary: "Read an agent's most recent reconciliation.",
      replies: { 200: { description: "The report.", schema: reconciliationReport } },
      errors: ["agent_not_found", "database_unavailable"],
    },
    async ({ c, params: { agent_id: agentId } }) => {
      const report = isUuid(agentId) ? await deps.manifests.report(agentId) : undefined;
      if (report === undefined) throw agentNotFound();
      return c.json(toReport(report));
    },
  );
}

const agentNotFound = (): ApiError => new ApiError("agent_not_found", "There is no such agent.");

const toListItem = (agent: AgentSummary) => ({
  id: agent.agentId,
  name: agent.name,
  latest_manifest_version: agent.latestVersion,
  latest_status: agent.latestStatus,
});

const toReport = (report: StoredReport) => ({
  manifest_version: report.manifestVersion,
  status: report.status,
  discovery_ok: report.discoveryOk,
  diff: report.diff,
  attestation: report.attestation,
  checked_at: new Date(report.checkedAtMs).toISOString(),
});
