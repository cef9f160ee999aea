import type { AdmittingChange, AgentManifestDocument } from "@svc/core";
import { html } from "hono/html";
import type { Markup } from "./markup.ts";
import { lineDiff } from "./text-diff.ts";

export type ProposedChange = Extract<AdmittingChange, { kind: "manifest" }>;

/** A change to a manifest: its effect, what it widens, and how to submit it. */
export const changeSection = (
  agent: string,
  title: string,
  current: AgentManifestDocument | undefined,
  change: AdmittingChange,
): Markup => html`<details class="change"><summary>${title}</summary>
${change.kind === "other" ? html`<p>${change.advice}</p>` : proposal(agent, current, change)}</details>`;

function proposal(agent: string, current: AgentManifestDocument | undefined, change: ProposedChange): Markup {
  const file = `${agent}.json`;
  // Without discovery a person has to confirm the submission (docs/reference/manifest.md#statuses).
  const unconfirmed = change.manifest.discovery === undefined;
  return html`<p><b>${change.summary}</b></p>
<ul class="warnings">${change.warnings.map((warning) => html`<li>${warning}</li>`)}</ul>
${lineDiff(indented(current), indented(change.manifest))}
<p>Save this as <code>${file}</code>:</p>
<details><summary>${file}</summary><pre tabindex="0">${indented({ agent, manifest: change.manifest })}</pre></details>
<p>and submit it${unconfirmed && ", with the reason to trust what no discovery confirms"}:</p>
<pre tabindex="0">svc manifest submit ${file}${unconfirmed && ' --override "why it can be trusted"'}</pre>`;
}

const indented = (document: unknown): string => JSON.stringify(document, null, 2);
