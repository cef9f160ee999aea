import {
  type ChangedDefinition,
  type DiffEntry,
  discoveryText,
  type ReconciledVersion,
  withoutDirection,
} from "@svc/core";
import { html } from "hono/html";
import { badge, code, isolated, type Markup, notice, time } from "./markup.ts";
import { table } from "./table.ts";
import { lineDiff, readable } from "./text-diff.ts";
import { manifestBadge } from "./words.ts";

/** The newest accepted one of these versions, newest first. */
export const inForce = (versions: readonly ReconciledVersion[]): ReconciledVersion | undefined =>
  versions.find(({ status }) => status === "reconciled" || status === "attested");

/** What the newest version would change, where it is not in force. */
export function forceNotice(versions: readonly ReconciledVersion[]): Markup | undefined {
  const [newest] = versions;
  const current = inForce(versions);
  if (newest === undefined || newest === current) return undefined;
  const refused = html`version ${newest.version} (${manifestBadge(newest.status)})`;
  if (current === undefined) {
    return notice("observe", "No version of these is in force", html`<p>The newest is ${refused}.</p>`);
  }
  return html`${notice("observe", `Version ${current.version} is in force, not the newest`, html`<p>The newest is ${refused}.</p>`)}
<details open><summary>From version ${current.version}, in force, to version ${newest.version}</summary>${lineDiff(readable(current.doc), readable(newest.doc))}</details>`;
}

export function versionSection(version: ReconciledVersion, before: ReconciledVersion | undefined): Markup {
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
      { head: "Tool", cell: ({ ref }) => code(ref) },
      { head: "Kind", cell: ({ kind }) => badge(diffTones[kind], kind) },
      { head: "Field", cell: ({ field }) => html`<code>${withoutDirection(field)}</code>` },
      { head: "Declared", cell: ({ declared }) => html`<code>${jsonText(declared)}</code>` },
      { head: "Discovered", cell: ({ discovered }) => html`<code>${jsonText(discovered)}</code>` },
      { head: "Remedy", cell: ({ remedy }) => remedy, isProse: true },
    ],
    rows: diff,
    whenEmpty: "",
  });
}

const diffTones = { exceeds: "deny", conflicts: "deny", undiscovered: "observe", undeclarable: "observe" } as const;

const jsonText = (value: unknown): string =>
  value === null || value === undefined ? "nothing" : withoutDirection(JSON.stringify(value));
