import { html } from "hono/html";
import { type Content, href, isolated, type Markup } from "./markup.ts";
import type { Listed, Query } from "./ports.ts";

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => Content;
  readonly isNumber?: true;
  /** Sentences: they wrap before the names of other columns do. */
  readonly isProse?: true;
}

interface Table<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly whenEmpty: Content;
  /** Live follow replaces its rows. */
  readonly isLive?: boolean;
}

/** On a narrow screen each row becomes a card whose cells name their column; the roles keep the table's meaning. */
export function table<Row>({ caption, columns, rows, whenEmpty, isLive = false }: Table<Row>): Markup {
  return html`<div class="table"${isLive ? html` id="live"` : ""}>${
    rows.length === 0
      ? html`<p class="table-caption">${caption}</p><p class="empty">${whenEmpty}</p>`
      : html`<table role="table"><caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(
          ({ head, isNumber }) => html`<th role="columnheader" scope="col"${numeric(isNumber)}>${head}</th>`,
        )}</tr></thead>
<tbody role="rowgroup">${rows.map(
          (row) => html`<tr role="row">${columns.map(
            ({ head, cell, isNumber, isProse }) =>
              html`<td role="cell" data-head="${head}"${numeric(isNumber)}${isProse && html` class="prose"`}><div>${isolated(cell(row))}</div></td>`,
          )}</tr>
`,
        )}</tbody></table>`
  }</div>`;
}

const numeric = (isNumber: true | undefined) => isNumber && html` class="number"`;

/** One page of a list, and the way to the next. */
export const pageOf = <Row>(
  path: string,
  query: Query,
  listed: Listed<Row>,
  shown: Omit<Table<Row>, "rows">,
): Markup => html`${table({ ...shown, rows: listed.rows })}
${pager(path, query, listed)}`;

/** Links to the first and the next page; the browser's own way back leads to the page before. */
export function pager(path: string, query: Query, { nextCursor }: Listed<unknown>): Markup | undefined {
  const { cursor, ...rest } = query;
  if (cursor === undefined && nextCursor === null) return undefined;
  return html`<nav class="pager" aria-label="Pages">
${cursor !== undefined && html`<a href="${href(path, rest)}">First page</a>`}
${nextCursor !== null && html`<a rel="next" href="${href(path, { ...rest, cursor: nextCursor })}">Next page</a>`}
</nav>`;
}
