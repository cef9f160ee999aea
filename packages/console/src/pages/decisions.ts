import { html } from "hono/html";
import { filtered, filterForm, type Issue } from "../form.ts";
import { code, count, href, link, type Markup, time } from "../markup.ts";
import { actionPath, caller, sessionPath, shortId, target } from "../places.ts";
import type { DecisionRow, Listed, Query } from "../ports.ts";
import { spanIssues } from "../span.ts";
import { type Column, pageOf } from "../table.ts";
import type { Page, View } from "../view.ts";
import { denyWords, outcomeBadge } from "../words.ts";
import { exportedRows } from "./decision-export.ts";
import { askedOf, decisionFields, fixedSpan, decisionsPath as path } from "./decision-filter.ts";

export const decisionColumns: readonly Column<DecisionRow>[] = [
  { head: "Time", cell: ({ record }) => time(record.decidedAtMs) },
  { head: "Outcome", cell: ({ record }) => outcomeBadge(record) },
  { head: "Caller", cell: ({ record }) => caller(record) },
  { head: "Target", cell: ({ record }) => target(record) },
  { head: "Data", cell: ({ record }) => code(record.dataClass) },
  { head: "Reason", cell: ({ record }) => denyWords(record.denyReason) },
  { head: "Hop", cell: ({ record }) => record.hop, isNumber: true },
  { head: "Session", cell: ({ record }) => shortId(sessionPath(record.sessionId), record.sessionId) },
  { head: "Action", cell: ({ record }) => shortId(actionPath(record.actionId), record.actionId) },
];

export const decisionsPage: Page = {
  path,
  async render({ reads, clock }, { query }) {
    const asked = askedOf(query, clock.nowMs());
    const { rows: decisions, issues } = await filtered(() => reads.decisions(asked));
    if (decisions === undefined) return faultyPage(query, [...spanIssues(query), ...issues]);
    // A cursor is bound to its query, so the pages of a relative span share its beginning.
    const fixed = fixedSpan(query, asked);
    return {
      title: "Decisions",
      section: "Decisions",
      body: html`${filterForm(path, decisionFields, query)}
<div class="list-actions">${followBox(query)}${protocolSwitch(query)}${exportLinks(fixed)}</div>
${decisionTable(query, fixed, decisions)}
${searchedNotice(decisions)}`,
    };
  },
};

const faultyPage = (query: Query, issues: readonly Issue[]): View => ({
  title: "Decisions",
  section: "Decisions",
  status: 400,
  body: filterForm(path, decisionFields, query, issues),
});

const isFirst = ({ cursor }: Query): boolean => cursor === undefined;
const isOldestFirst = ({ order }: Query): boolean => order === "oldest";

const followBox = (query: Query) =>
  isFirst(query) &&
  !isOldestFirst(query) &&
  html`<p class="follow"><label><input type="checkbox" data-follow hidden> <span hidden>Follow live</span></label> <span role="status" data-follow-status></span></p>`;

function protocolSwitch(query: Query): Markup {
  const { cursor: _cursor, protocol, ...others } = query;
  return protocol === undefined
    ? html`<p>Messages of MCP sessions (initialize, ping, tools/list) are hidden. ${link(href(path, { ...others, protocol: "all" }), "Show them")}</p>`
    : html`<p>Messages of MCP sessions are shown. ${link(href(path, others), "Hide them")}</p>`;
}

const exportLinks = (fixed: Query): Markup =>
  html`<p>Export these decisions, at most ${count(exportedRows)}: ${link(href(`${path}.csv`, fixed), "CSV")}, ${link(href(`${path}.jsonl`, fixed), "JSON lines")}</p>`;

const decisionTable = (query: Query, fixed: Query, decisions: Listed<DecisionRow>): Markup =>
  pageOf(path, { ...fixed, ...(query.cursor !== undefined && { cursor: query.cursor }) }, decisions, {
    caption: captionOf(query),
    columns: decisionColumns,
    whenEmpty:
      Object.keys(query).length === 0
        ? "No decisions yet. Each call that an agent asks for appears here."
        : "No decisions match. Clear a filter, or widen the span of time.",
    isLive: isFirst(query) && !isOldestFirst(query),
  });

function captionOf(query: Query): string {
  if (isOldestFirst(query)) return isFirst(query) ? "Oldest decisions first" : "Later decisions";
  return isFirst(query) ? "Newest decisions first" : "Older decisions";
}

/** A page that ended before it was full, although there is a next one. */
const searchedNotice = ({ next, nextCursor }: Listed<DecisionRow>): Markup | false =>
  next === undefined &&
  nextCursor !== null &&
  html`<p class="hint">One page searches a part of the record. More decisions may match: the next page continues the search.</p>`;
