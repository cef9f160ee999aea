import {
  type AdmittingChange,
  type AgentManifestDocument,
  admittingChange,
  admittingChanges,
  agentManifest,
  openReason,
  type ScopeCount,
  type WouldBlock,
  type WouldBlockGroup,
  type WouldBlockNow,
  withoutDirection,
} from "@svc/core";
import { html } from "hono/html";
import { type Field, filterForm } from "../form.ts";
import { badge, code, count, href, isolated, link, type Markup, notice, plural, time } from "../markup.ts";
import { agentPath } from "../places.ts";
import type { ConsoleReads, Listed, Query } from "../ports.ts";
import { withInstants } from "../span.ts";
import { pageOf, table } from "../table.ts";
import { lineDiff } from "../text-diff.ts";
import type { Page } from "../view.ts";
import { denyWords } from "../words.ts";

const path = "/console/would-block";

const fields: readonly Field[] = [
  { name: "scope", label: "Scope" },
  { name: "since", label: "Since (UTC)", isTime: true },
  { name: "until", label: "Until (UTC)", isTime: true },
];

export const wouldBlockPage: Page = {
  path,
  async render({ reads, clock }, { query }) {
    const { scope } = query;
    const [groups, scopes] = await Promise.all([
      reads.wouldBlocks(withInstants(query, clock.nowMs())),
      scope === undefined ? reads.observedByScope(kindsCounted) : [],
    ]);
    return {
      title: "Calls that enforcement would block",
      section: "Would block",
      body: html`<p class="lead">Observe mode let these calls pass although the policy of their session denies them. Like calls are one row, with what the newest policy decides. Declare the open ones to allow, then enforce.</p>
${filterForm(path, fields, query)}
${isWhole(query, groups) && left(groups.rows)}
${groupTable(query, groups)}
${scope === undefined ? scopeChoice(scopes) : await changes(reads, scope, groups.rows.filter(isOpen))}`,
    };
  },
};

const isOpen = ({ now }: WouldBlock): boolean => now.status === "open";

/** All groups are on this page. */
const isWhole = ({ cursor }: Query, { rows, nextCursor }: Listed<WouldBlock>): boolean =>
  cursor === undefined && nextCursor === null && rows.length > 0;

const left = (groups: readonly WouldBlock[]): Markup => {
  const open = groups.filter(isOpen).length;
  return open === 0
    ? notice("allow", "0 left: safe to enforce", html`<p>The newest policies admit every call of this list.</p>`)
    : notice(
        "observe",
        `${count(open)} left`,
        html`<p>The newest policies still deny ${plural(open, "kind of call", "kinds of calls")} of this list.</p>`,
      );
};

const openFirst = (groups: readonly WouldBlock[]): readonly WouldBlock[] =>
  [...groups].sort((a, b) => Number(isOpen(b)) - Number(isOpen(a)));

const nowWords = ({ now, denyReason }: WouldBlock): Markup => {
  if (now.status === "admitted") return html`${badge("allow", "admitted")} ${now.scopes.map(sinceWords)}`;
  const open = now.scopes.filter(({ sinceVersion }) => sinceVersion === null);
  const others = open.filter((each) => each.denyReason !== denyReason);
  return html`${badge("observe", "open")} ${open.length === 0 ? "not decided" : others.map(({ denyReason: reason }) => denyWords(reason) ?? "not decided")}`;
};

const sinceWords = ({ scope, sinceVersion }: WouldBlockNow["scopes"][number]): Markup =>
  html`<div>since ${link(href("/console/scope", { name: scope, version: String(sinceVersion) }), `version ${sinceVersion}`)} of ${isolated(scope)}</div>`;

const groupTable = (query: Query, groups: Listed<WouldBlock>): Markup =>
  pageOf(
    path,
    query,
    { ...groups, rows: openFirst(groups.rows) },
    {
      caption: "By caller and target, open ones first",
      columns: [
        { head: "Caller", cell: ({ actingAgent }) => actingAgent },
        { head: "Target", cell: ({ target }) => code(target) },
        { head: "Data", cell: ({ dataClass }) => code(dataClass) },
        { head: "Reason", cell: ({ denyReason }) => denyWords(denyReason) },
        { head: "Now", cell: nowWords },
        { head: "Calls", cell: ({ count: calls }) => count(calls), isNumber: true },
        { head: "First", cell: ({ firstMs }) => time(firstMs) },
        { head: "Last", cell: ({ lastMs }) => time(lastMs) },
        {
          head: "Decisions",
          cell: ({ actingAgent, denyReason }) =>
            link(
              href("/console/decisions", {
                agent: actingAgent,
                deny_reason: denyReason ?? undefined,
                enforced: "false",
              }),
              "show",
            ),
        },
      ],
      whenEmpty:
        "0 to review. Either no enforcement point is in observe mode (SVC_PEP_MODE=observe), or every observed call is allowed.",
    },
  );

/** Bounds the time of the choice of scopes. */
const kindsCounted = 5_000;

/** A change belongs to one scope of a manifest. */
const scopeChoice = (scopes: readonly ScopeCount[]): Markup => html`<section><h2>Manifest changes</h2>
${table({
  caption: `Choose a scope to see the manifest changes that admit its calls`,
  columns: [
    { head: "Scope", cell: ({ scope }) => link(href(path, { scope }), scope) },
    { head: "Calls", cell: ({ count: calls }) => count(calls), isNumber: true },
  ],
  rows: scopes,
  whenEmpty: "0 to review.",
})}</section>`;

async function changes(reads: ConsoleReads, scope: string, groups: readonly WouldBlock[]): Promise<Markup> {
  if (groups.length === 0) return html``;
  const byAgent = Map.groupBy(groups, ({ actingAgent }) => actingAgent);
  const manifests = await reads.acceptedManifests([...byAgent.keys()]);
  return html`<section><h2>Manifest changes</h2>
${notice("neutral", "Each change is a proposal", html`<p>The service reconciles a submitted change with what the agent's servers advertise. It applies to new consents; sessions keep their policy version.</p>`)}
${[...byAgent].map(([agent, own]) => agentChanges(agent, scope, own, manifests.get(agent)))}</section>`;
}

function agentChanges(agent: string, scope: string, groups: readonly WouldBlock[], doc: string | undefined): Markup {
  const current = doc === undefined ? undefined : readDocument(doc);
  return html`<section><h3>${current === undefined ? agent : link(agentPath(agent), agent)}: ${plural(groups.length, "kind of call", "kinds of calls")}</h3>
${groups.map((group) => changeSection(agent, titleOf(group), current, admittingChange(callOf(group, scope), scope, current)))}
${together(agent, scope, groups, current)}</section>`;
}

const titleOf = ({ target, dataClass, count: calls }: WouldBlock): string =>
  `${target} for ${dataClass}, ${plural(calls, "call")}`;

/** Undefined where the stored row is damaged. */
function readDocument(doc: string): AgentManifestDocument | undefined {
  const document: unknown = JSON.parse(doc);
  return agentManifest.safeParse(document).success ? (document as AgentManifestDocument) : undefined;
}

const callOf = (group: WouldBlock, scope: string): WouldBlockGroup => ({
  ...group,
  agent: group.actingAgent,
  denyReason: openReason(group, scope) ?? "TARGET_NOT_DECLARED",
});

/** Each change above builds on the current manifest, so several of one agent are submitted as one. */
function together(
  agent: string,
  scope: string,
  groups: readonly WouldBlock[],
  current: AgentManifestDocument | undefined,
): Markup | undefined {
  const calls = groups.map((group) => callOf(group, scope));
  const changes = admittingChanges(calls, scope, current).filter((change) => change.kind === "manifest");
  const last = changes.at(-1);
  if (last === undefined || changes.length < 2) return undefined;
  return changeSection(agent, "All changes at once", current, {
    ...last,
    summary: changes.map(({ summary }) => summary).join(" "),
    warnings: [...new Set(changes.flatMap(({ warnings }) => warnings))],
  });
}

type ProposedChange = Extract<AdmittingChange, { kind: "manifest" }>;

/** A change to a manifest: its effect, what it widens, and how to submit it. */
const changeSection = (
  agent: string,
  title: string,
  current: AgentManifestDocument | undefined,
  change: AdmittingChange,
): Markup => html`<details class="change"><summary>${isolated(title)}</summary>
${change.kind === "other" ? html`<p>${isolated(change.advice)}</p>` : proposal(agent, current, change)}</details>`;

function proposal(agent: string, current: AgentManifestDocument | undefined, change: ProposedChange): Markup {
  const file = `${agent}.json`;
  // Without discovery a person has to confirm the submission (docs/reference/manifest.md#statuses).
  const unconfirmed = change.manifest.discovery === undefined;
  return html`<p><b>${isolated(change.summary)}</b></p>
<ul class="warnings">${change.warnings.map((warning) => html`<li>${isolated(warning)}</li>`)}</ul>
${lineDiff(indented(current), indented(change.manifest))}
<p>Save this as <code>${file}</code>:</p>
<details><summary>${file}</summary><pre tabindex="0">${indented({ agent, manifest: change.manifest })}</pre></details>
<p>and submit it${unconfirmed && ", with the reason to trust what no discovery confirms"}:</p>
<pre tabindex="0">svc manifest submit ${file}${unconfirmed && ' --override "why it can be trusted"'}</pre>`;
}

const indented = (document: unknown): string => withoutDirection(JSON.stringify(document, null, 2));
