import { html } from "hono/html";
import type { Markup } from "./markup.ts";
import type { Query } from "./ports.ts";

export interface Field {
  readonly name: string;
  readonly label: string;
  /** Without options, a text field. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  readonly isTime?: true;
}

/** A page's filter. The address holds it, so a filtered page can be linked to. */
export const filterForm = (
  path: string,
  fields: readonly Field[],
  query: Query,
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

export const asOptions = (values: readonly string[]): readonly (readonly [string, string])[] =>
  values.map((value) => [value, value.replaceAll("_", " ")] as const);

/** Date and time as people type them: without seconds or offset. */
const loose = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?)?$/;

function toInstant(text: string): string {
  const [, day, minute = "00:00", seconds = ":00"] = loose.exec(text.replace(/Z$/, "")) ?? [];
  return day === undefined ? text : `${day}T${minute}${seconds}Z`;
}

/** The query with its times as the audit API takes them. */
export const withInstants = (query: Query): Query => ({
  ...query,
  ...(query.since !== undefined && { since: toInstant(query.since) }),
  ...(query.until !== undefined && { until: toInstant(query.until) }),
});
