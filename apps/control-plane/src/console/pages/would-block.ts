import {
  type AdmittingChange,
  type AgentManifestDocument,
  admittingChange,
  agentManifest,
  denyReasonTable,
  wouldBlockQuery,
} from "@svc/core";
import { html } from "hono/html";
import { openPage, toPage } from "../../http/page.ts";
import { decodeQuery } from "../../http/query.ts";
import type { ScopeCount } from "../../ports/decision-counts.ts";
import type { WouldBlock } from "../../ports/decision-log.ts";
import type { Deps } from "../../routes/deps.ts";
import { groupPosition, readGroups } from "../../routes/would-block.ts";
import { type Field, filterForm, withInstants } from "../form.ts";
import { count, href, link, type Markup, notice, plural, time } from "../markup.ts";
import { pager } from "../pager.ts";
import { agentPath } from "../places.ts";
import { changeSection, type ProposedChange } from "../proposed-change.ts";
import { table } from "../table.ts";
import type { Page, PageRequest, View } from "../view.ts";

const path = "/console/would-block";

const fields: readonly Field[] = [
  { name: "scope", label: "Scope" },
  { name: "since", label: "Since (UTC)", isTime: true },
  { name: "until", label: "Until (UTC)", isTime: true },
];

export const wouldBlockPage: Page = { path, render };

async function render(deps: Deps, { query: asked }: PageRequest): Promise<View> {
  const query = withInstants(asked);
  const { scope, since: sinceMs, until: untilMs, ...paging } = decodeQuery(query, wouldBlockQuery);
  const request = openPage(deps.cursorKey, path, query, paging);
  const [groups, scopes] = await Promise.all([
    readGroups(deps, request, { scope, sinceMs, untilMs }),
    scope === undefined ? deps.decisionCounts.observedByScope(newestObserved) : [],
  ]);
  const page = toPage(deps.cursorKey, request, groups, (group) => group, groupPosition);
  return {
    title: "What enforcing would block",
    section: "Would block",
    body: html`<p class="lead">Calls that observe mode let through although the policy denies them, like calls together. Declare what should go on, leave the rest, then enforce.</p>
${filterForm(path, fields, asked)}
${groupTable(page.data)}
${pager(path, asked, page.page.next_cursor)}
${scope === undefined ? scopeChoice(scopes) : await changes(deps, scope, page.data)}`,
  };
}

const groupTable = (groups: readonly WouldBlock[]): Markup =>
  table({
    caption: "In the order of agent and target",
    columns: [
      { head: "Who", cell: ({ actingAgent }) => actingAgent },
      { head: "Target", cell: ({ target }) => html`<code>${target}</code>` },
      { head: "Data", cell: ({ dataClass }) => html`<code>${dataClass}</code>` },
      {
        head: "Why",
        cell: ({ denyReason }) =>
          denyReason && html`<span title="${denyReason}">${denyReasonTable[denyReason].label}</span>`,
      },
      { head: "Calls", cell: ({ count: calls }) => count(calls), isNumber: true },
      { head: "First", cell: ({ firstMs }) => time(firstMs) },
      { head: "Last", cell: ({ lastMs }) => time(lastMs) },
      {
        head: "Decisions",
        cell: ({ actingAgent, denyReason }) =>
          link(
            href("/console/decisions", { agent: actingAgent, deny_reason: denyReason ?? undefined, enforced: "false" }),
            "show",
          ),
      },
    ],
    rows: groups,
    whenEmpty:
      "Nothing. Either no enforcement point observes (SVC_PEP_MODE=observe), or every observed call is allowed: then enforcing changes nothing for them.",
  });

/** Of the observed calls, those that the choice of scopes is made from. */
const newestObserved = 20_000;

/** A change belongs to one scope of a manifest, so one has to be chosen. */
const scopeChoice = (scopes: readonly ScopeCount[]): Markup => html`<section><h2>Manifest changes</h2>
${table({
  caption: `Choose a scope to see what would admit its calls; counted are the newest ${count(newestObserved)}`,
  columns: [
    { head: "Scope", cell: ({ scope }) => link(href(path, { scope }), scope) },
    { head: "Calls", cell: ({ count: calls }) => count(calls), isNumber: true },
  ],
  rows: scopes,
  whenEmpty: "No scope has calls that would be blocked.",
})}</section>`;

async function changes(deps: Deps, scope: string, groups: readonly WouldBlock[]): Promise<Markup> {
  if (groups.length === 0) return html``;
  const byAgent = Map.groupBy(groups, ({ actingAgent }) => actingAgent);
  const manifests = await deps.declarations.accepted([...byAgent.keys()]);
  return html`<section><h2>Manifest changes</h2>
${notice("neutral", "Each change is a proposal", html`<p>Submitting it reconciles it with what the agent's servers advertise. Sessions keep the policy that they pinned: it takes effect with the next consent.</p>`)}
${[...byAgent].map(([agent, own]) => agentChanges(agent, scope, own, manifests.get(agent)))}</section>`;
}

function agentChanges(agent: string, scope: string, groups: readonly WouldBlock[], doc: string | undefined): Markup {
  const current = doc === undefined ? undefined : readDocument(doc);
  const proposed = groups.map((group) => ({ group, change: changeOf(group, scope, current) }));
  return html`<section><h3>${current === undefined ? agent : link(agentPath(agent), agent)}: ${plural(groups.length, "kind of call", "kinds of calls")}</h3>
${proposed.map(({ group, change }) => changeSection(agent, titleOf(group), current, change))}
${together(agent, scope, groups, current)}</section>`;
}

const titleOf = ({ target, dataClass, count: calls }: WouldBlock): string =>
  `${target} for ${dataClass}, ${plural(calls, "call")}`;

/** Of the document's shape, since it was accepted as that; undefined where the row is damaged. */
function readDocument(doc: string): AgentManifestDocument | undefined {
  const document: unknown = JSON.parse(doc);
  return agentManifest.safeParse(document).success ? (document as AgentManifestDocument) : undefined;
}

const changeOf = (group: WouldBlock, scope: string, current: AgentManifestDocument | undefined): AdmittingChange =>
  // The table's rows are denies, whose reason is never absent.
  admittingChange(
    { ...group, agent: group.actingAgent, denyReason: group.denyReason ?? "TARGET_NOT_DECLARED" },
    scope,
    current,
  );

/** Every change builds on the present manifest, so several of one agent have to be submitted as one. */
function together(
  agent: string,
  scope: string,
  groups: readonly WouldBlock[],
  current: AgentManifestDocument | undefined,
): Markup | undefined {
  const start: { manifest: AgentManifestDocument | undefined; made: ProposedChange[] } = {
    manifest: current,
    made: [],
  };
  const { manifest, made } = groups.reduce((sofar, group) => {
    const change = changeOf(group, scope, sofar.manifest);
    return change.kind === "manifest" ? { manifest: change.manifest, made: [...sofar.made, change] } : sofar;
  }, start);
  if (manifest === undefined || made.length < 2) return undefined;
  const all: ProposedChange = {
    kind: "manifest",
    manifest,
    summary: made.map(({ summary }) => summary).join(" "),
    warnings: [...new Set(made.flatMap(({ warnings }) => warnings))],
  };
  return changeSection(agent, `All of it at once`, current, all);
}
