import { html } from "hono/html";
import type { Markup } from "./markup.ts";

export const searchPath = "/console/search";

/** In the head of every page. */
export const searchBox =
  (): Markup => html`<form class="search" action="${searchPath}" role="search" aria-label="Record">
<label class="unseen" for="search">Search for an id, the end of one, a name or a reason</label>
<input id="search" name="q" type="search" placeholder="Id, name or reason" maxlength="255" autocomplete="off" spellcheck="false">
<button>Search</button></form>`;
