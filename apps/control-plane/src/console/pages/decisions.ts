import { decisionsQuery, denyReasons, denyReasonTable, outcomes, taints, targetKinds } from "@svc/core";
import { html } from "hono/html";
import { openPage, toPage } from "../../http/page.ts";
import { decodeQuery } from "../../http/query.ts";
import type { DecisionRow } from "../../ports/decision-log.ts";
import { readHistory, toDecisionFilter } from "../../routes/decisions.ts";
import type { Deps } from "../../routes/deps.ts";
import { asOptions, type Field, filterForm, withInstants } from "../form.ts";
import { type Markup, time } from "../markup.ts";
import { pager } from "../pager.ts";
import { actionPath, actor, sessionPath, shortId, target } from "../places.ts";
import { type Column, table } from "../table.ts";
import type { Page, PageRequest, View } from "../view.ts";
import { outcomeBadge } from "../words.ts";

const path = "/console/decisions";

const yesNo = [
  ["true", "yes"],
  ["false", "no"],
] as const;

/** All filters of the audit API. */
const fields: readonly Field[] = [
  { name: "outcome", label: "Outcome", options: asOptions(outcomes) },
  { name: "deny_reason", label: "Deny reason", options: denyReasons.map((reason) => [reason, reason] as const) },
  { name: "enforced", label: "Enforced", options: yesNo },
  { name: "agent", label: "Who acts" },
  { name: "target_kind", label: "Target", options: asOptions(targetKinds) },
  { name: "privileged", label: "Privileged", options: yesNo },
  { name: "taint", label: "Taint", options: asOptions(taints) },
  { name: "session_id", label: "Session" },
  { name: "since", label: "Since (UTC)", isTime: true },
  { name: "until", label: "Until (UTC)", isTime: true },
];

const columns: readonly Column<DecisionRow>[] = [
  { head: "Time", cell: ({ record }) => time(record.decidedAtMs) },
  { head: "Outcome", cell: ({ record }) => outcomeBadge(record) },
  { head: "Who", cell: ({ record }) => actor(record) },
  { head: "Target", cell: ({ record }) => target(record) },
  { head: "Data", cell: ({ record }) => html`<code>${record.dataClass}</code>` },
  { head: "Why", cell: ({ record }) => reason(record.denyReason) },
  { head: "Hop", cell: ({ record }) => record.hop, isNumber: true },
  { head: "Session", cell: ({ record }) => shortId(sessionPath(record.sessionId), record.sessionId) },
  { head: "Action", cell: ({ record }) => shortId(actionPath(record.actionId), record.actionId) },
];

const reason = (denyReason: DecisionRow["record"]["denyReason"]): Markup | undefined =>
  denyReason === null ? undefined : html`<span title="${denyReason}">${denyReasonTable[denyReason].label}</span>`;

/** Rows of decisions, wherever they are listed. */
export const decisionTable = (
  caption: string,
  rows: readonly DecisionRow[],
  whenEmpty: string,
  isLive = false,
): Markup => table({ caption, columns, rows, whenEmpty, isLive });

export const decisionsPage: Page = { path, render };

async function render(deps: Deps, { query: asked }: PageRequest): Promise<View> {
  const query = withInstants(asked);
  const decoded = decodeQuery(query, decisionsQuery);
  const request = openPage(deps.cursorKey, path, query, decoded);
  const rows = await readHistory(deps, request, toDecisionFilter(decoded));
  const page = toPage(
    deps.cursorKey,
    request,
    rows,
    (row) => row,
    ({ seq }) => String(seq),
  );
  const isFirst = decoded.cursor === undefined;
  return {
    title: "Decisions",
    section: "Decisions",
    body: html`${filterForm(path, fields, asked)}
${isFirst && html`<p class="follow"><label><input type="checkbox" data-follow hidden> <span hidden>Follow live</span></label> <span role="status" data-follow-status></span></p>`}
${decisionTable(
  isFirst ? "The newest decisions" : "Older decisions",
  page.data,
  Object.keys(asked).length === 0
    ? "No call was decided yet. The first one appears here as soon as an agent asks for it."
    : "No decision is like this. Clear a filter, or widen the span of time.",
  isFirst,
)}
${pager(path, asked, page.page.next_cursor)}`,
  };
}
