import { html } from "hono/html";
import { href, type Markup } from "./markup.ts";
import type { Query } from "./ports.ts";

/** Spans of time that end now, by their name in the address. */
export type Choice = Readonly<Record<string, { readonly name: string; readonly ms: number }>>;

/** Links to the same page for each span. */
export const spanChoice = (path: string, spans: Choice, current: string, query: Query = {}): Markup =>
  html`<nav class="choice" aria-label="Span of time"><ul>${Object.entries(spans).map(
    ([span, { name }]) =>
      html`<li><a href="${href(path, { ...query, span })}"${span === current && html` aria-current="true"`}>${name}</a></li>`,
  )}</ul></nav>`;
