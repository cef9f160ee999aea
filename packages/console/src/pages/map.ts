import { html } from "hono/html";
import { usageColumns } from "../calls.ts";
import { failurePage } from "../failure-page.ts";
import { flowGraph } from "../flow-graph.ts";
import { type Flow, type FlowNode, type Focus, flowsOf, rate, within } from "../flows.ts";
import { age, count, href, link, type Markup, notice, plural, time } from "../markup.ts";
import { agentPath, target } from "../places.ts";
import type { Query } from "../ports.ts";
import { type Choice, spanChoice } from "../span-choice.ts";
import { table } from "../table.ts";
import type { Page } from "../view.ts";

const path = "/console/map";
const minuteMs = 60_000;
const spans = {
  "15m": { name: "Last 15 minutes", ms: 15 * minuteMs },
  "1h": { name: "Last hour", ms: 60 * minuteMs },
  "24h": { name: "Last 24 hours", ms: 1_440 * minuteMs },
} as const satisfies Choice;

/** The map counts the newest decisions of its span only, so that its time does not grow with the record. */
const counted = 30_000;
/** A drawing of more is unreadable. */
const drawn = 60;
const listed = 200;

export const mapPage: Page = {
  path,
  async render({ reads, clock }, { query }) {
    const { span = "1h", agent, tool, show, ...others } = query;
    const isKnown = Object.hasOwn(spans, span) && (show === undefined || show === "denied");
    if (!isKnown || (agent !== undefined && tool !== undefined) || Object.keys(others).length > 0) return invalidMap;
    const nowMs = clock.nowMs();
    const { ms } = spans[span as keyof typeof spans];
    const calls = await reads.countCalls({ sinceMs: nowMs - ms, newest: counted });
    const isCut = calls.reduce((sum, call) => sum + call.count, 0) >= counted;
    const sinceMs = isCut ? Math.min(...calls.map(({ firstMs }) => firstMs)) : nowMs - ms;
    const minutes = Math.max(1, (nowMs - sinceMs) / minuteMs);
    const focus = { agent, tool, isDeniedOnly: show === "denied" };
    const flows = within(flowsOf(calls), focus);
    return {
      title: "Map of agents and tools",
      section: "Map",
      body: html`${spanChoice(path, spans, span, query)}
${focusLine(focus, query)}
<p class="follow"><label><input type="checkbox" data-follow hidden> <span hidden>Follow live</span></label> <span role="status" data-follow-status></span> ${link(href(path, query), "Refresh")}</p>
<div id="live">
${isCut && cutNotice(sinceMs)}
${flows.length > 0 && legend(flows)}
${flows.length > 0 && flowGraph(flows.slice(0, drawn), minutes, (node) => focusOn(node, query))}
${flowTable(flows, minutes)}
</div>`,
    };
  },
};

const invalidMap = failurePage({
  code: "invalid_request",
  status: 400,
  message: "The map takes no such query.",
  details: {
    issues: [
      { path: "span", message: `must be one of ${Object.keys(spans).join(", ")}` },
      { path: "agent, tool", message: "may be one of them, and no other parameter but show=denied" },
    ],
  },
});

const cutNotice = (sinceMs: number): Markup =>
  notice(
    "neutral",
    `Only the newest ${count(counted)} decisions are counted`,
    html`<p>This span has more: rates and figures are of the time since ${time(sinceMs)}.</p>`,
  );

const legend = (flows: readonly Flow[]): Markup =>
  html`<p class="legend">An arrow leads from the caller to its target, where the caller's calls a minute are listed: <span class="tone-allow">all allowed</span>, <span class="tone-observe">some would block</span>, <span class="tone-deny">some denied</span>.
${flows.length > drawn && html`The busiest ${drawn} of ${plural(flows.length, "connection")} are drawn: choose a node to see its own.`}</p>`;

function focusLine({ agent, tool, isDeniedOnly }: Focus, query: Query): Markup {
  const { show: _show, ...all } = query;
  const { agent: _agent, tool: _tool, ...whole } = query;
  const name = agent ?? tool;
  return html`<p>${name !== undefined && html`Around ${target({ target: name, targetKind: agent === undefined ? "tool" : "agent" })}: ${link(href(path, whole), "show all")} · `}
${isDeniedOnly ? html`Only connections with denied calls: ${link(href(path, all), "show all calls")}` : link(href(path, { ...query, show: "denied" }), "Only connections with denied calls")}</p>`;
}

function focusOn({ kind, name }: FlowNode, { span, show }: Query): string | undefined {
  if (kind === "people") return undefined;
  return href(path, { span, show, [kind]: name });
}

const nodeLink = ({ kind, name }: FlowNode) => {
  if (kind === "people") return name;
  return kind === "agent" ? link(agentPath(name), name) : target({ target: name, targetKind: kind });
};

function flowTable(flows: readonly Flow[], minutes: number): Markup {
  const rows = flows.slice(0, listed);
  return table({
    caption:
      flows.length > listed
        ? `The busiest ${listed} of ${count(flows.length)} connections`
        : "Connections, busiest first",
    columns: [
      { head: "Caller", cell: ({ from }) => nodeLink(from) },
      { head: "Target", cell: ({ to }) => nodeLink(to) },
      { head: "A minute", cell: ({ total }) => rate(total, minutes), isNumber: true },
      ...usageColumns(rows),
      { head: "Last", cell: ({ lastMs }) => age(lastMs) },
      { head: "Decisions", cell: decisionsOf },
    ],
    rows,
    whenEmpty: "No calls in this span.",
  });
}

const decisionsOf = ({ from, to }: Flow): Markup =>
  link(href("/console/decisions", { agent: from.kind === "agent" ? from.name : undefined, target: to.name }), "show");
