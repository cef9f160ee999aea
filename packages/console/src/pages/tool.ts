import { type CallCount, type CompiledPolicy, mcpServerRef, type PersonCount, type PolicyDocument } from "@svc/core";
import { html } from "hono/html";
import { byCaller, reasonTable, usageColumns } from "../calls.ts";
import { notFoundPage } from "../failure-page.ts";
import { age, bar, codes, count, href, link, type Markup, notice } from "../markup.ts";
import { agentPath, caller, personPath, scopePath } from "../places.ts";
import type { ConsolePorts, ConsoleReads } from "../ports.ts";
import { table } from "../table.ts";
import { readable } from "../text-diff.ts";
import type { Page } from "../view.ts";
import { guaranteeWords, yesNo } from "../words.ts";
import { decisionColumns } from "./decisions.ts";
import { blockTable } from "./denials.ts";

const dayMs = 86_400_000;
const countedDecisions = 20_000;
const shownPeople = 15;
const shownRows = 10;

/** One agent's declaration of the tool under one scope, with the facts that the scope merges. */
interface Declaration {
  readonly agent: string;
  readonly scope: string;
  readonly version: number;
  readonly dataClasses: readonly string[];
  readonly definitionHash: string | undefined;
  readonly tool: PolicyDocument["tools"][number];
}

export const toolPage: Page = {
  path: "/console/tool",
  async render(ports, { query, offer }) {
    const { name = "" } = query;
    const { policies, calls, people, decisions, blocks } = await readTool(ports, name);
    if (policies.length === 0 && calls.length === 0 && blocks.length === 0) {
      return notFoundPage("tool", "/console/scopes", "the scopes");
    }
    const declared = policies.flatMap((policy) => declarationsOf(policy, name));
    const texts = await ports.reads.definitionTexts([...new Set(declared.flatMap(hashOf))]);
    const filter = { target: name };
    return {
      title: name,
      section: "Scopes",
      body: html`<p class="lead">A tool. Blocked? ${yesNo(blocks.length > 0)}</p>
${blocks.length > 0 && html`<section><h2>Emergency blocks</h2>${blockTable(blocks, offer)}</section>`}
${offer(blocks.every(({ ref }) => ref !== name) && { act: "set_block", kind: "tool", ref: name })}
<p>${link(href("/console/decisions", filter), "Its decisions")} · ${link(href("/console/map", { tool: name }), "Map of its callers")}</p>
<section><h2>Agents that declare it</h2>${declarationTable(declared)}</section>
${definitions(declared, texts)}
<div class="columns">
<section><h2>Callers</h2>${callerTable(calls)}</section>
<section><h2>People it was called for</h2>${peopleTable(people)}</section>
<section><h2>Deny reasons</h2>${reasonTable(calls, filter)}</section>
</div>
<p class="quiet">Figures and recent decisions are of the newest ${count(countedDecisions)} decisions of the last 24 hours.</p>
<section><h2>Recent decisions</h2>
${table({ caption: "Newest first", columns: decisionColumns, rows: decisions, whenEmpty: "No call of this tool in this span." })}</section>`,
    };
  },
};

async function readTool({ reads, clock }: ConsolePorts, tool: string) {
  const recent = { sinceMs: clock.nowMs() - dayMs, newest: countedDecisions, of: { target: tool } };
  const [policies, calls, people, blocks] = await Promise.all([
    reads.policiesOfTool(tool),
    reads.countCalls(recent),
    reads.countPeople({ ...recent, limit: shownPeople }),
    reads.blocksOf("tool", blocking(tool)),
  ]);
  const decisions = calls.length === 0 ? [] : await newestOf(reads, tool, calls);
  return { policies, calls, people, decisions, blocks };
}

/** No index has targets, so only the counted part of the log is read again. */
async function newestOf(reads: ConsoleReads, target: string, calls: readonly CallCount[]) {
  const sinceMs = Math.min(...calls.map(({ firstMs }) => firstMs));
  const { rows } = await reads.decisions({ target, since: new Date(sinceMs).toISOString() }, shownRows);
  return rows;
}

/** What blocks the tool: itself, or its whole server. */
const blocking = (tool: string): readonly string[] => [...new Set([tool, mcpServerRef(tool) ?? tool])];

function declarationsOf({ scope, version, document }: CompiledPolicy, ref: string): readonly Declaration[] {
  const tool = document.tools.find((one) => one.ref === ref);
  if (tool === undefined) return [];
  return Object.entries(document.agents).flatMap(([agent, { tools }]) =>
    tools
      .filter((one) => one.ref === ref)
      .map((one) => ({
        ...{ agent, scope, version, tool },
        dataClasses: one.data_classes,
        definitionHash: one.definition_hash,
      })),
  );
}

const hashOf = ({ definitionHash }: Declaration): readonly string[] =>
  definitionHash === undefined ? [] : [definitionHash];

const declarationTable = (declared: readonly Declaration[]): Markup =>
  table({
    caption: "By the newest policy of each scope",
    columns: [
      { head: "Agent", cell: ({ agent }) => link(agentPath(agent), agent) },
      {
        head: "Scope",
        cell: ({ scope, version }) =>
          html`${link(scopePath(scope), scope)} <span class="quiet">version ${version}</span>`,
      },
      { head: "Data", cell: ({ dataClasses }) => codes(dataClasses) },
      { head: "Privileged", cell: ({ tool }) => (tool.privileged ? "yes, bound to its parameters" : "no") },
      { head: "After untrusted data", cell: ({ tool }) => (tool.accepts_taint ? "allowed" : "denied") },
      { head: "Results", cell: ({ tool }) => (tool.result_taint === "untrusted_external" ? "untrusted" : "trusted") },
      { head: "Guarantee", cell: ({ tool }) => guaranteeWords[tool.guarantee_level] },
    ],
    rows: declared,
    whenEmpty: "No agent declares it, so each call of it is denied.",
  });

/** What an MCP tool was when a manifest was accepted. Agents may have accepted it at different times. */
function definitions(declared: readonly Declaration[], texts: ReadonlyMap<string, string>): Markup | undefined {
  const pinned = [
    ...Map.groupBy(
      declared.filter(({ definitionHash }) => definitionHash !== undefined),
      ({ definitionHash }) => definitionHash ?? "",
    ),
  ];
  if (pinned.length === 0) return undefined;
  return html`<section><h2>Pinned definitions</h2>
${pinned.length > 1 && notice("observe", `${pinned.length} definitions are pinned`, html`<p>Agents accepted this tool with different definitions. A call is admitted only as its agent accepted it.</p>`)}
${pinned.map(
  ([hash, by]) =>
    html`<details><summary>Accepted by ${[...new Set(by.map(({ agent }) => agent))].join(", ")}: <code title="${hash}">…${hash.slice(-8)}</code></summary><pre tabindex="0">${readable(texts.get(hash) ?? "Its text is not stored.")}</pre></details>`,
)}</section>`;
}

function callerTable(calls: readonly CallCount[]): Markup {
  const rows = byCaller(calls);
  return table({
    caption: "Most calls first",
    columns: [
      { head: "Caller", cell: ({ call }) => caller({ hop: call.byPerson ? 1 : 2, actingAgent: call.actingAgent }) },
      ...usageColumns(rows),
      { head: "Last", cell: ({ lastMs }) => age(lastMs) },
    ],
    rows,
    whenEmpty: "No call in this span.",
  });
}

export function peopleTable(people: readonly PersonCount[]): Markup {
  const most = people[0]?.count ?? 0;
  return table({
    caption: "Most calls first",
    columns: [
      { head: "Person", cell: ({ userSub }) => link(personPath(userSub), userSub) },
      {
        head: "Calls",
        cell: (row) => html`${bar(row.count, most, "neutral")}<span class="figure-of">${count(row.count)}</span>`,
        isNumber: true,
      },
      { head: "Denied", cell: ({ denied }) => denied > 0 && count(denied), isNumber: true },
      { head: "Last", cell: ({ lastMs }) => age(lastMs) },
    ],
    rows: people,
    whenEmpty: "No call in this span.",
  });
}
