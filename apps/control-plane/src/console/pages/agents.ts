import { agentsQuery, type DiffEntry, manifestStatuses, pagedQuery } from "@svc/core";
import { html } from "hono/html";
import { ApiError } from "../../http/api-error.ts";
import { openPage, toPage } from "../../http/page.ts";
import { decodeQuery } from "../../http/query.ts";
import type { SubmittedVersion } from "../../ports/declarations.ts";
import type { AgentIdentity } from "../../ports/identities.ts";
import type { Deps } from "../../routes/deps.ts";
import { asOptions, type Field, filterForm } from "../form.ts";
import { badge, facts, href, link, type Markup, time } from "../markup.ts";
import { pager } from "../pager.ts";
import { agentPath } from "../places.ts";
import { table } from "../table.ts";
import { lineDiff, readable } from "../text-diff.ts";
import type { Page, PageRequest, View } from "../view.ts";
import { manifestBadge } from "../words.ts";

const path = "/console/agents";

const fields: readonly Field[] = [{ name: "status", label: "Latest status", options: asOptions(manifestStatuses) }];

export const agentsPage: Page = {
  path,
  async render(deps, { query }) {
    const { status, ...paging } = decodeQuery(query, agentsQuery);
    const request = openPage(deps.cursorKey, path, query, paging);
    const rows = await deps.manifests.listAgents({ status, afterName: request.after, limit: request.limit + 1 });
    const page = toPage(
      deps.cursorKey,
      request,
      rows,
      (row) => row,
      ({ name }) => name,
    );
    return {
      title: "Agents",
      section: "Agents",
      body: html`${filterForm(path, fields, query)}
${table({
  caption: "By name",
  columns: [
    { head: "Agent", cell: ({ name }) => link(agentPath(name), name) },
    { head: "Latest manifest", cell: ({ latestVersion }) => `version ${latestVersion}` },
    { head: "Status", cell: ({ latestStatus }) => manifestBadge(latestStatus) },
    { head: "Id", cell: ({ agentId }) => html`<code>${agentId}</code>` },
  ],
  rows: page.data,
  whenEmpty:
    status === undefined
      ? "No agent is registered yet. One registers with POST /v1/agents."
      : "No agent's latest manifest has this status.",
})}
${pager(path, query, page.page.next_cursor)}`,
    };
  },
};

const versionsShown = 10;

export const agentPage: Page = { path: `${path}/:agent`, render: renderAgent };

async function renderAgent(deps: Deps, { params, query }: PageRequest): Promise<View> {
  const agent = params.agent ?? "";
  const here = agentPath(agent);
  const identity = await deps.identities.byName(agent);
  if (identity === undefined) throw new ApiError("agent_not_found", "There is no such agent.");
  const request = openPage(deps.cursorKey, here, query, { ...decodeQuery(query, pagedQuery), limit: versionsShown });
  const versions = await deps.declarations.versions({
    agentId: identity.agentId,
    before: request.after === undefined ? undefined : Number(request.after),
    limit: request.limit + 1,
  });
  const page = toPage(
    deps.cursorKey,
    request,
    versions,
    (version) => version,
    ({ version }) => String(version),
  );
  return {
    title: agent,
    section: "Agents",
    body: html`${identityFacts(identity)}
<p>${link(href("/console/decisions", { agent }), "What it asked for")} · ${link(href("/console/sessions", { agent }), "Sessions it was delegated to in")}</p>
<section><h2>Manifest versions</h2>
${page.data.map((version, index) => versionSection(version, versions[index + 1]))}
${pager(here, query, page.page.next_cursor)}</section>`,
  };
}

const identityTones = { none: "neutral", enrolled: "allow", quarantined: "observe", revoked: "deny" } as const;

const identityFacts = ({ agentId, status, anchorVersion, keys, revokedReason, asOfMs }: AgentIdentity): Markup =>
  facts([
    ["Id", html`<code>${agentId}</code>`],
    ["Identity", status === "none" ? "never enrolled" : badge(identityTones[status], status)],
    ["Anchor version", anchorVersion > 0 && anchorVersion],
    ["Keys", keys.length > 0 && html`${keys.map(({ kid }) => html`<code>${kid}</code> `)}`],
    ["Reason", revokedReason],
    ["Changed", status !== "none" && time(asOfMs)],
  ]);

function versionSection(version: SubmittedVersion, before: SubmittedVersion | undefined): Markup {
  const { status, attestedBy, attestationReason, createdAtMs } = version;
  return html`<article class="version"><h3>Version ${version.version} ${manifestBadge(status)}</h3>
<p class="quiet">Submitted ${time(createdAtMs)}${attestedBy !== null && html`, attested by ${attestedBy}`}${attestationReason !== null && html`: ${attestationReason}`}</p>
${reportOf(version)}
${
  before === undefined
    ? html`<details><summary>The manifest</summary><pre tabindex="0">${readable(version.doc)}</pre></details>`
    : html`<details open><summary>Changes since version ${before.version}</summary>${lineDiff(readable(before.doc), readable(version.doc))}</details>
<details><summary>The whole manifest</summary><pre tabindex="0">${readable(version.doc)}</pre></details>`
}</article>`;
}

/** What was found when it was held against what the agent's servers advertise. */
function reportOf({ diff, discoveryOk }: SubmittedVersion): Markup {
  if (diff.length === 0) {
    return html`<p>${discoveryOk ? "Reconciled: discovery advertises all that it declares." : "Discovery was not available, or did not answer; nothing contradicts it."}</p>`;
  }
  return table<DiffEntry>({
    caption: "Reconciliation: where it differs from what was discovered",
    columns: [
      { head: "Tool", cell: ({ ref }) => html`<code>${ref}</code>` },
      { head: "Kind", cell: ({ kind }) => badge(kind === "undiscovered" ? "observe" : "deny", kind) },
      { head: "Field", cell: ({ field }) => html`<code>${field}</code>` },
      { head: "Declared", cell: ({ declared }) => html`<code>${said(declared)}</code>` },
      { head: "Discovered", cell: ({ discovered }) => html`<code>${said(discovered)}</code>` },
      { head: "What to do", cell: ({ remedy }) => remedy },
    ],
    rows: diff,
    whenEmpty: "",
  });
}

/** JSON of any shape: text from here on. */
const said = (value: unknown): string => (value === null || value === undefined ? "nothing" : JSON.stringify(value));
