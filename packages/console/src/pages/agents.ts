import {
  type ChangedDefinition,
  type DiffEntry,
  discoveryText,
  manifestStatuses,
  type ReconciledVersion,
  withoutDirection,
} from "@svc/core";
import { html } from "hono/html";
import { notFoundPage } from "../failure-page.ts";
import { asOptions, type Field, filterForm } from "../form.ts";
import { badge, facts, href, isolated, link, type Markup, time } from "../markup.ts";
import { agentPath } from "../places.ts";
import type { AgentIdentity } from "../ports.ts";
import { pageOf, pager, table } from "../table.ts";
import { lineDiff, readable } from "../text-diff.ts";
import type { Page } from "../view.ts";
import { manifestBadge } from "../words.ts";

const path = "/console/agents";
const fields: readonly Field[] = [{ name: "status", label: "Latest status", options: asOptions(manifestStatuses) }];

export const agentsPage: Page = {
  path,
  async render({ reads }, { query }) {
    const agents = await reads.agents(query);
    return {
      title: "Agents",
      section: "Agents",
      body: html`${filterForm(path, fields, query)}
${pageOf(path, query, agents, {
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

export const agentPage: Page = {
  path: `${path}/:agent`,
  async render({ reads }, { params, query, offer }) {
    const agent = params.agent ?? "";
    const identity = await reads.agent(agent);
    if (identity === undefined) return notFoundPage("agent", path, "the agents");
    const versions = await reads.manifestVersions(identity, query);
    return {
      title: agent,
      section: "Agents",
      body: html`${identityFacts(identity)}
${offer(
  identity.status !== "revoked" && { act: "revoke_agent", ref: agent },
  identity.status === "quarantined" && { act: "lift_quarantine", ref: agent },
  { act: "set_block", kind: "agent", ref: agent },
)}
<p>${link(href("/console/decisions", { agent }), "Its calls")} · ${link(href("/console/sessions", { agent }), "Sessions with a delegation to it")}</p>
<section><h2>Manifest versions</h2>
${versions.rows.map((version, index) => versionSection(version, versions.rows[index + 1] ?? versions.next))}
${pager(agentPath(agent), query, versions)}</section>`,
    };
  },
};

const identityTones = { none: "neutral", enrolled: "allow", quarantined: "observe", revoked: "deny" } as const;

const identityFacts = ({ agentId, status, anchorVersion, keys, revokedReason, asOfMs }: AgentIdentity): Markup =>
  facts([
    ["Id", html`<code>${agentId}</code>`],
    ["Identity", status === "none" ? "not enrolled" : badge(identityTones[status], status)],
    ["Anchor version", anchorVersion > 0 && anchorVersion],
    ["Keys", keys.length > 0 && html`${keys.map(({ kid }) => html`<code>${kid}</code> `)}`],
    ["Reason", revokedReason],
    ["Changed", status !== "none" && time(asOfMs)],
  ]);

function versionSection(version: ReconciledVersion, before: ReconciledVersion | undefined): Markup {
  const { status, attestedBy, attestationReason, createdAtMs } = version;
  const text = readable(version.doc);
  return html`<article class="version"><h3>Version ${version.version} ${manifestBadge(status)}</h3>
<p class="quiet">Submitted ${time(createdAtMs)}${attestedBy !== null && html`, attested by ${isolated(attestedBy)}`}${attestationReason !== null && html`: ${isolated(attestationReason)}`}</p>
${reconciliation(version)}
${version.definitions.map(changedDefinition)}
${version.discovery.length > 0 && html`<ul>${version.discovery.map((read) => html`<li>${isolated(discoveryText(read))}</li>`)}</ul>`}
${before && html`<details open><summary>Changes since version ${before.version}</summary>${lineDiff(readable(before.doc), text)}</details>`}
<details><summary>The whole manifest</summary><pre tabindex="0">${text}</pre></details></article>`;
}

/** The server's own texts. */
const changedDefinition = ({ ref, changed, before, now }: ChangedDefinition): Markup =>
  html`<details open><summary>The definition of <code>${ref}</code> changed: ${changed.join(", ")}</summary>
${before === null || now === null ? html`<p>Its texts are not stored.</p>` : lineDiff(readable(before), readable(now))}</details>`;

function reconciliation({ diff, discoveryOk }: ReconciledVersion): Markup {
  if (diff.every(({ kind }) => kind === "undeclarable")) {
    return html`<p>${discoveryOk ? "Reconciled: discovery confirms everything it declares." : "Discovery was not configured or failed; nothing contradicts the manifest."}</p>
${diff.length > 0 && differences("Tools that no manifest can declare", diff)}`;
  }
  return differences("Differences from discovery", diff);
}

function differences(caption: string, diff: readonly DiffEntry[]): Markup {
  return table<DiffEntry>({
    caption,
    columns: [
      { head: "Tool", cell: ({ ref }) => html`<code>${ref}</code>` },
      { head: "Kind", cell: ({ kind }) => badge(diffTones[kind], kind) },
      { head: "Field", cell: ({ field }) => html`<code>${withoutDirection(field)}</code>` },
      { head: "Declared", cell: ({ declared }) => html`<code>${jsonText(declared)}</code>` },
      { head: "Discovered", cell: ({ discovered }) => html`<code>${jsonText(discovered)}</code>` },
      { head: "Remedy", cell: ({ remedy }) => remedy },
    ],
    rows: diff,
    whenEmpty: "",
  });
}

const diffTones = { exceeds: "deny", conflicts: "deny", undiscovered: "observe", undeclarable: "observe" } as const;

const jsonText = (value: unknown): string =>
  value === null || value === undefined ? "nothing" : withoutDirection(JSON.stringify(value));
