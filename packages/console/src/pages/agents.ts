import { manifestStatuses } from "@svc/core";
import { html } from "hono/html";
import { asOptions, type Field, filterForm } from "../form.ts";
import { link } from "../markup.ts";
import { agentPath } from "../places.ts";
import { pageOf } from "../table.ts";
import type { Page } from "../view.ts";
import { manifestBadge } from "../words.ts";

export const agentsPath = "/console/agents";
const fields: readonly Field[] = [{ name: "status", label: "Latest status", options: asOptions(manifestStatuses) }];

export const agentsPage: Page = {
  path: agentsPath,
  async render({ reads }, { query }) {
    const agents = await reads.agents(query);
    return {
      title: "Agents",
      section: "Agents",
      body: html`${filterForm(agentsPath, fields, query)}
${pageOf(agentsPath, query, agents, {
  caption: "By name",
  columns: [
    { head: "Agent", cell: ({ name }) => link(agentPath(name), name) },
    { head: "Latest manifest", cell: ({ latestVersion }) => `version ${latestVersion}` },
    { head: "Status", cell: ({ latestStatus }) => manifestBadge(latestStatus) },
    { head: "Id", cell: ({ agentId }) => html`<code>${agentId}</code>` },
  ],
  whenEmpty:
    query.status === undefined
      ? "No agent is registered yet. Register one with POST /v1/agents."
      : "No agent's latest manifest has this status.",
})}`,
    };
  },
};
