import { structuredPatch } from "diff";
import { html } from "hono/html";
import type { Markup } from "./markup.ts";

/** A stored document laid out for reading; one that is not JSON any more is shown as it is. */
export function readable(doc: string): string {
  try {
    return JSON.stringify(JSON.parse(doc), null, 2);
  } catch {
    return doc;
  }
}

const contextLines = 3;
/** Beyond so many edits the search for the shortest difference is given up: it would hold up everybody else. */
const maxEditLength = 2_000;

/** What one text has that the other has not, line by line; the signs say it without the colours. */
export function lineDiff(before: string, after: string): Markup {
  const patch = structuredPatch("", "", before, after, "", "", { context: contextLines, maxEditLength });
  if (patch === undefined) return html`<p>The two differ in more than can be shown: compare them as a whole.</p>`;
  if (patch.hunks.length === 0) return html`<p>The text is the same.</p>`;
  const lines = patch.hunks.flatMap((hunk, index) => [...(index > 0 ? ["⋯"] : []), ...hunk.lines]);
  return html`<pre class="diff" tabindex="0">${lines.filter((line) => !line.startsWith("\\")).map(diffLine)}</pre>`;
}

function diffLine(line: string): Markup {
  if (line.startsWith("+")) return html`<ins>${line}\n</ins>`;
  if (line.startsWith("-")) return html`<del>${line}\n</del>`;
  return html`${line}\n`;
}
