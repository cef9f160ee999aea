import { withoutDirection } from "@svc/core";
import { structuredPatch } from "diff";
import { html } from "hono/html";
import type { Markup } from "./markup.ts";

/** A stored document, indented; unchanged where it is no JSON. */
export function readable(doc: string): string {
  try {
    return withoutDirection(JSON.stringify(JSON.parse(doc), null, 2));
  } catch {
    return doc;
  }
}

const contextLines = 3;
/** The search for a difference ends after so many edits: it would block other requests. */
const maxEditLength = 2_000;

/** The differing lines of two texts; signs carry the meaning besides the colors. */
export function lineDiff(before: string, after: string): Markup {
  const patch = structuredPatch("", "", before, after, "", "", { context: contextLines, maxEditLength });
  if (patch === undefined) return html`<p>The difference is too large to show: compare the whole texts.</p>`;
  if (patch.hunks.length === 0) return html`<p>The text is the same.</p>`;
  const lines = patch.hunks.flatMap((hunk, index) => [...(index > 0 ? ["⋯"] : []), ...hunk.lines]);
  return html`<pre class="diff" tabindex="0">${lines.filter((line) => !line.startsWith("\\")).map(diffLine)}</pre>`;
}

function diffLine(line: string): Markup {
  if (line.startsWith("+")) return html`<ins>${line}\n</ins>`;
  if (line.startsWith("-")) return html`<del>${line}\n</del>`;
  return html`${line}\n`;
}
