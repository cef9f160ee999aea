import { html } from "hono/html";
import type { Markup, Tone } from "./markup.ts";

/** Parts that the drawings share. */

export interface Box {
  readonly name: string;
  readonly kind: string;
  readonly tone: Tone;
  readonly x: number;
  readonly y: number;
}

export interface BoxSize {
  readonly width: number;
  readonly height: number;
  /** How many characters of a name fit. */
  readonly nameLength: number;
}

/** An SVG that scrolls within its frame on a narrow screen. */
export const drawing = (
  label: string,
  description: string,
  { width, height }: { readonly width: number; readonly height: number },
  content: Markup,
): Markup =>
  html`<div class="graph-frame" tabindex="0" role="region" aria-label="${label}"><svg class="graph" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${description}">
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>
${content}
</svg></div>`;

/** A name that does not fit is cut; the title has all of it. */
export const box = ({ name, kind, tone, x, y }: Box, { width, height, nameLength }: BoxSize): Markup =>
  html`<g><title>${name}</title>
<rect class="node ${tone}" x="${x}" y="${y}" width="${width}" height="${height}" rx="5"/>
<text class="kind" x="${x + 12}" y="${y + 17}">${kind}</text>
<text class="name" x="${x + 12}" y="${y + 34}">${cut(name, nameLength)}</text></g>`;

export const edge = (path: string, tone: Tone | "" = ""): Markup =>
  html`<path class="edge ${tone}" marker-end="url(#arrow)" d="${path}"/>`;

export const cut = (text: string, length: number): string => {
  const points = [...text];
  return points.length <= length ? text : `${points.slice(0, length - 1).join("")}…`;
};
