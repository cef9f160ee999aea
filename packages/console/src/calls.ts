import type { CallCount } from "@svc/core";
import { html } from "hono/html";
import { bar, type Content, count, href, link, type Markup } from "./markup.ts";
import type { Query } from "./ports.ts";
import { type Column, table } from "./table.ts";
import { byReason } from "./tally.ts";
import { denyLabel, outcomeTone } from "./words.ts";

/** Counted calls, added up for tables. */

export interface Usage {
  readonly total: number;
  readonly denied: number;
  readonly observed: number;
  readonly lastMs: number;
}

export function usageOf(counts: readonly CallCount[]): Usage {
  const sumOf = (group: readonly CallCount[]): number => group.reduce((total, call) => total + call.count, 0);
  return {
    total: sumOf(counts),
    denied: sumOf(counts.filter((call) => outcomeTone(call) === "deny")),
    observed: sumOf(counts.filter((call) => outcomeTone(call) === "observe")),
    lastMs: Math.max(...counts.map(({ lastMs }) => lastMs)),
  };
}

/** One row for each key, with the first of its counts; the most calls first. */
export const usageBy = (
  counts: readonly CallCount[],
  keyOf: (call: CallCount) => string,
): readonly (Usage & { readonly call: CallCount })[] =>
  [...Map.groupBy(counts, keyOf).values()]
    .flatMap((group) => (group[0] === undefined ? [] : [{ ...usageOf(group), call: group[0] }]))
    .sort((a, b) => b.total - a.total);

export const byCaller = (counts: readonly CallCount[]) =>
  usageBy(counts, ({ byPerson, actingAgent }) => `${byPerson} ${actingAgent}`);
export const byTarget = (counts: readonly CallCount[]) =>
  usageBy(counts, ({ targetKind, target }) => `${targetKind} ${target}`);

/** A figure; nothing instead of 0, so that the others stand out. */
const some = (value: number): Content => value > 0 && count(value);

const barOf = (value: number, most: number, tone: "neutral" | "deny"): Markup =>
  html`${bar(value, most, tone)}<span class="figure-of">${count(value)}</span>`;

/** Calls, denied ones and those that enforcement would block. */
export const usageColumns = <Row extends Usage>(rows: readonly Row[]): readonly Column<Row>[] => {
  const most = Math.max(0, ...rows.map(({ total }) => total));
  return [
    { head: "Calls", cell: ({ total }) => barOf(total, most, "neutral"), isNumber: true },
    { head: "Denied", cell: ({ denied }) => some(denied), isNumber: true },
    { head: "Would block", cell: ({ observed }) => some(observed), isNumber: true },
  ];
};

/** Denies by their reason. @param filter of the decisions that a row leads to */
export function reasonTable(
  counts: readonly Pick<CallCount, "denyReason" | "count">[],
  filter: Query = {},
  whenEmpty = "No denied calls in this span.",
): Markup {
  const rows = byReason(counts);
  const most = rows[0]?.count ?? 0;
  return table({
    caption: "Enforced and observed, most frequent first",
    columns: [
      {
        head: "Reason",
        cell: ({ reason }) =>
          html`<span title="${reason}">${link(href("/console/decisions", { ...filter, deny_reason: reason }), denyLabel(reason))}</span>`,
      },
      { head: "Calls", cell: (row) => barOf(row.count, most, "deny"), isNumber: true },
    ],
    rows,
    whenEmpty,
  });
}
