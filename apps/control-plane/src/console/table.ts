import { html } from "hono/html";
import { type Content, empty, type Markup } from "./markup.ts";

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => Content;
  readonly isNumber?: true;
}

export interface Table<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** What there is to know where there are no rows. */
  readonly whenEmpty: Content;
  /** Rows come and go while it is looked at. */
  readonly isLive?: boolean;
}

/**
 * A table with a caption. On a narrow screen each row becomes a card whose cells carry their column's name; the roles say
 * then what the layout no longer does.
 */
export function table<Row>({ caption, columns, rows, whenEmpty, isLive = false }: Table<Row>): Markup {
  return html`<div class="table"${isLive ? html` id="live"` : ""}>${
    rows.length === 0
      ? html`<p class="table-caption">${caption}</p>${empty(whenEmpty)}`
      : html`<table role="table"><caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(
          ({ head, isNumber }) => html`<th role="columnheader" scope="col"${numeric(isNumber)}>${head}</th>`,
        )}</tr></thead>
<tbody role="rowgroup">${rows.map(
          (row) => html`<tr role="row">${columns.map(
            ({ head, cell, isNumber }) =>
              html`<td role="cell" data-head="${head}"${numeric(isNumber)}><div>${cell(row)}</div></td>`,
          )}</tr>
`,
        )}</tbody></table>`
  }</div>`;
}

const numeric = (isNumber: true | undefined) => isNumber && html` class="number"`;
