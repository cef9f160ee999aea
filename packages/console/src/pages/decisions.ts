import { denyReasons, outcomes, taints, targetKinds } from "@svc/core";
import { html } from "hono/html";
import { asOptions, type Field, filtered, filterForm, type Issue } from "../form.ts";
import { type Markup, time } from "../markup.ts";
import { actionPath, caller, sessionPath, shortId, target } from "../places.ts";
import type { DecisionRow, Listed, Query } from "../ports.ts";
import { lastIssues, spanFields, withInstants } from "../span.ts";
import { type Column, pageOf } from "../table.ts";
import type { Page, View } from "../view.ts";
import { denyWords, outcomeBadge } from "../words.ts";

const path = "/console/decisions";

const yesNo = [
  ["true", "yes"],
  ["false", "no"],
] as const;

/** Every filter of the audit API. */
const fields: readonly Field[] = [
  { name: "outcome", label: "Outcome", options: asOptions(outcomes) },
  { name: "deny_reason", label: "Deny reason", options: denyReasons.map((reason) => [reason, reason] as const) },
  { name: "enforced", label: "Enforced", options: yesNo },
  { name: "agent", label: "Caller" },
  { name: "target_kind", label: "Target", options: asOptions(targetKinds) },
  { name: "privileged", label: "Privileged", options: yesNo },
  { name: "taint", label: "Taint", options: asOptions(taints) },
  { name: "session_id", label: "Session" },
  ...spanFields,
];

export const decisionColumns: readonly Column<DecisionRow>[] = [
  { head: "Time", cell: ({ record }) => time(record.decidedAtMs) },
  { head: "Outcome", cell: ({ record }) => outcomeBadge(record) },
  { head: "Caller", cell: ({ record }) => caller(record) },
  { head: "Target", cell: ({ record }) => target(record) },
  { head: "Data", cell: ({ record }) => html`<code>${record.dataClass}</code>` },
  { head: "Reason", cell: ({ record }) => denyWords(record.denyReason) },
  { head: "Hop", cell: ({ record }) => record.hop, isNumber: true },
  { head: "Session", cell: ({ record }) => shortId(sessionPath(record.sessionId), record.sessionId) },
  { head: "Action", cell: ({ record }) => shortId(actionPath(record.actionId), record.actionId) },
];

export const decisionsPage: Page = {
  path,
  async render({ reads, clock }, { query }) {
    // A cursor is bound to its query, so the pages of a relative span share its beginning.
    const asked = withInstants(query, clock.nowMs());
    const { rows: decisions, issues } = await filtered(() => reads.decisions(asked));
    if (decisions === undefined) return faultyPage(query, [...lastIssues(query), ...issues]);
    return {
      title: "Decisions",
      section: "Decisions",
      body: html`${filterForm(path, fields, query)}
${followBox(query)}
${decisionTable(query, asked, decisions)}`,
    };
  },
};

const faultyPage = (query: Query, issues: readonly Issue[]): View => ({
  title: "Decisions",
  section: "Decisions",
  status: 400,
  body: filterForm(path, fields, query, issues),
});

const isFirst = ({ cursor }: Query): boolean => cursor === undefined;

const followBox = (query: Query) =>
  isFirst(query) &&
  html`<p class="follow"><label><input type="checkbox" data-follow hidden> <span hidden>Follow live</span></label> <span role="status" data-follow-status></span></p>`;

const decisionTable = (query: Query, asked: Query, decisions: Listed<DecisionRow>): Markup =>
  pageOf(path, asked, decisions, {
    caption: isFirst(query) ? "Newest decisions" : "Older decisions",
    columns: decisionColumns,
    whenEmpty:
      Object.keys(query).length === 0
        ? "No decisions yet. Each call that an agent asks for appears here."
        : "No decisions match. Clear a filter, or widen the span of time.",
    isLive: isFirst(query),
  });
