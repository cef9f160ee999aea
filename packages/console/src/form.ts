import { html } from "hono/html";
import { isolated, type Markup, notice } from "./markup.ts";
import type { Query } from "./ports.ts";

export interface Field {
  readonly name: string;
  readonly label: string;
  /** Without options, a text field. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  /** What an empty choice means. Default: any. */
  readonly unchosen?: string;
  readonly isTime?: true;
}

/** What is wrong with a query: the parameter, and how it must be. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/**
 * A page's filter with what was entered, and beside each field what is wrong with it: the first issue of each path. The
 * address holds the filter.
 */
export function filterForm(path: string, fields: readonly Field[], query: Query, found: readonly Issue[] = []): Markup {
  const issues = found.filter((issue, at) => found.findIndex((other) => other.path === issue.path) === at);
  return html`${issues.length > 0 && faultNotice(fields, issues)}
<form class="filter" action="${path}" role="search" aria-label="Filter">
${fields.map((field) =>
  fieldRow(
    field,
    query[field.name] ?? "",
    issues.find((issue) => issue.path === field.name),
  ),
)}
<div class="filter-actions"><button class="primary">Filter</button> <a href="${path}">Clear</a></div>
</form>`;
}

const fieldRow = (field: Field, value: string, issue: Issue | undefined): Markup => {
  const fault = issue && html`<p class="fault" id="e-${field.name}">${isolated(issue.message)}</p>`;
  return html`<div><label for="f-${field.name}">${field.label}</label>${control(field, value, issue !== undefined)}${fault}</div>`;
};

/** Where the faults are, and those that no field of the form shows. */
function faultNotice(fields: readonly Field[], issues: readonly Issue[]): Markup {
  const labelOf = (path: string) => fields.find(({ name }) => name === path)?.label;
  return notice(
    "deny",
    "This filter cannot be applied",
    html`<ul>${issues.map(({ path, message }) => {
      const label = labelOf(path);
      const subject =
        label === undefined ? path && html`<code>${path}</code> ` : html`<a href="#f-${path}">${label}</a> `;
      return html`<li>${subject}${isolated(message)}</li>`;
    })}</ul>`,
  );
}

function control({ name, options, unchosen = "any", isTime }: Field, value: string, isFaulty: boolean): Markup {
  const fault = isFaulty && html` aria-invalid="true" aria-describedby="e-${name}"`;
  if (options === undefined) {
    const hint = isTime && html` placeholder="2026-01-31 12:00" data-time`;
    return html`<input id="f-${name}" name="${name}" value="${value}" autocomplete="off" spellcheck="false"${hint}${fault}>`;
  }
  const isOther = value !== "" && !options.some(([option]) => option === value);
  const offered = isOther ? [...options, [value, value] as const] : options;
  return html`<select id="f-${name}" name="${name}"${fault}><option value="">${unchosen}</option>${offered.map(
    ([option, label]) => html`<option value="${option}"${option === value && html` selected`}>${label}</option>`,
  )}</select>`;
}

export const asOptions = (values: readonly string[]): readonly (readonly [string, string])[] =>
  values.map((value) => [value, value.replaceAll("_", " ")] as const);

/** The rows that a filter selects, or what is wrong with it. @throws any other fault of the read */
export async function filtered<Rows>(
  read: () => Promise<Rows>,
): Promise<{ readonly rows: Rows; readonly issues?: never } | { readonly rows?: never; readonly issues: Issue[] }> {
  try {
    return { rows: await read() };
  } catch (thrown) {
    return { issues: issuesOf(thrown) };
  }
}

/** @throws what is no refusal of the query */
function issuesOf(thrown: unknown): Issue[] {
  const { code, details } = thrown as { readonly code?: unknown; readonly details?: { readonly issues?: unknown } };
  if (code === "invalid_request" && Array.isArray(details?.issues)) return (details.issues as Issue[]).map(inWords);
  throw thrown;
}

/** What the schema says to programs, said to people; any other message as it is. */
function inWords({ path, message }: Issue): Issue {
  if (path === "cursor") return { path, message: "is of another list: filter again for the first page of this one" };
  if (message.startsWith("Invalid option")) return { path, message: "is not one of the choices" };
  return { path, message: message.replace(/^Unrecognized keys?: (.+)$/s, "This page has no such filter: $1") };
}
