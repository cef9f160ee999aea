import { agentManifest, agentName, manifestStatuses, page } from "@svc/core";
import { z } from "zod";
import { isUuid } from "../commands/identifier.ts";
import { submitManifest } from "../commands/manifest/submit-manifest.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import { openPage, pageQuery, toPage } from "../http/page.ts";
import type { AgentSummary, StoredReport } from "../ports/manifests.ts";
import type { Deps } from "./deps.ts";
import {
  answerSubmission,
  diffEntry,
  override,
  submissionErrors,
  submissionReplies,
  toSubmission,
} from "./submission.ts";

const tag = "Agents";
const agents = "/v1/agents";

const agentCreate = z
  .strictObject({ name: agentName, manifest: agentManifest, override: override.optional() })
  .meta({ id: "AgentCreate" });

const agentListItem = z
  .object({
    id: z.string(),
    name: z.string(),
    latest_manifest_version: z.int(),
    latest_status: z.enum(manifestStatuses),
  })
  .meta({ id: "AgentListItem" });

const reconciliationReport = z
  .object({
    manifest_version: z.int(),
    status: z.enum(manifestStatuses),
    discovery_ok: z.boolean(),
    diff: z.array(diffEntry),
    attestation: z.object({ by: z.string(), reason: z.string().nullable() }).nullable(),
    checked_at: z.iso.datetime(),
  })
  .meta({ id: "ReconciliationReport" });

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
      query: z.strictObject({ ...pageQuery, status: z.enum(manifestStatuses).optional() }),
      replies: { 200: { description: "One page.", schema: page(agentListItem) } },
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
      query: z.strictObject({ name: agentName }),
      replies: { 200: { description: "The agent.", schema: z.object({ agent_id: z.string(), name: z.string() }) } },
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
