import { html } from "hono/html";
import type { RawQuery } from "../http/query.ts";
import { href, type Markup } from "./markup.ts";

/** On through the pages, by the API's own cursors; back is the browser's way back, or the first page. */
export function pager(path: string, query: RawQuery, nextCursor: string | null): Markup | undefined {
  const { cursor, ...rest } = query;
  if (cursor === undefined && nextCursor === null) return undefined;
  return html`<nav class="pager" aria-label="Pages">
${cursor !== undefined && html`<a href="${href(path, rest)}">First page</a>`}
${nextCursor !== null && html`<a rel="next" href="${href(path, { ...rest, cursor: nextCursor })}">Next page</a>`}
</nav>`;
}
