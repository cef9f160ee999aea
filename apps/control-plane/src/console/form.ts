import { html } from "hono/html";
import type { RawQuery } from "../http/query.ts";
import type { Markup } from "./markup.ts";

/** A field of a filter; what the address says stands in it. */
export interface Field {
  readonly name: string;
  readonly label: string;
  /** A closed set to choose from; without it, a text. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  readonly isTime?: true;
}

/** The filter of a page, sent as the address: what is shown can be linked to. */
export const filterForm = (
  path: string,
  fields: readonly Field[],
  query: RawQuery,
): Markup => html`<form class="filter" action="${path}" role="search" aria-label="Filter">
${fields.map((field) => html`<div><label for="f-${field.name}">${field.label}</label>${control(field, query[field.name] ?? "")}</div>`)}
<div class="filter-actions"><button class="primary">Filter</button> <a href="${path}">Clear</a></div>
</form>`;

function control({ name, options, isTime }: Field, value: string): Markup {
  if (options === undefined) {
    const hint = isTime && html` placeholder="2026-01-31 12:00"`;
    return html`<input id="f-${name}" name="${name}" value="${value}" autocomplete="off" spellcheck="false"${hint}>`;
  }
  return html`<select id="f-${name}" name="${name}"><option value="">any</option>${options.map(
    ([option, label]) => html`<option value="${option}"${option === value && html` selected`}>${label}</option>`,
  )}</select>`;
}

/** Values that are their own words. */
export const asOptions = (values: readonly string[]): readonly (readonly [string, string])[] =>
  values.map((value) => [value, value.replaceAll("_", " ")] as const);

/** An instant as people type it: seconds may be left out, and so may the offset of UTC. */
const loose = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?)?$/;

export function spelledOut(instant: string): string {
  const [, day, minute = "00:00", seconds = ":00"] = loose.exec(instant.replace(/Z$/, "")) ?? [];
  return day === undefined ? instant : `${day}T${minute}${seconds}Z`;
}

/** The address with its instants as the audit API takes them. */
export const withInstants = (query: RawQuery): RawQuery => ({
  ...query,
  ...(query.since !== undefined && { since: spelledOut(query.since) }),
  ...(query.until !== undefined && { until: spelledOut(query.until) }),
});
