import { html } from "hono/html";

/** Markup whose values are all escaped: text that people chose stays text. */
export type Markup = ReturnType<typeof html>;
/** A template's value: markup as it is, text escaped, nothing for null, undefined and false. */
export type Content = Markup | string | number | null | undefined | false | readonly Content[];

/** An address within the console, without the parameters that have no value. */
export function href(path: string, parameters: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

/** Text that people chose: its direction marks end with it, and it wraps anywhere. Markup is returned as it is. */
export const isolated = (content: Content): Content =>
  typeof content === "string" ? html`<bdi>${content}</bdi>` : content;

export const link = (to: string, text: Content): Markup => html`<a href="${to}">${isolated(text)}</a>`;

const shortName = 24;

/** A name; a short one wraps only where the window is narrow. */
export const code = (name: string): Markup =>
  html`<code${name.length <= shortName && html` class="short"`}>${name}</code>`;

/** A list of names; "none" where it is empty. */
export const codes = (names: readonly string[]): Markup =>
  names.length === 0
    ? html`<span class="none">none</span>`
    : html`${names.map((name, at) => html`${at > 0 && ", "}<code>${name}</code>`)}`;

/** UTC, to the second; `times.js` shows the reader's zone. */
export const time = (epochMs: number): Markup => moment(epochMs, false);

/** The same where recency matters: `times.js` shows how long ago it was. */
export const age = (epochMs: number): Markup => moment(epochMs, true);

function moment(epochMs: number, isAge: boolean): Markup {
  const iso = new Date(epochMs).toISOString();
  const text = `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
  return html`<time datetime="${iso}" title="${text} UTC"${isAge && html` data-age`}>${text}</time>`;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
export const count = (value: number): string => whole.format(value);

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** One decimal, so that a small share is not shown as 0 %. */
export const share = (part: number, total: number): string =>
  total === 0 ? "0 %" : `${((100 * part) / total).toFixed(1)} %`;

export type Tone = "allow" | "deny" | "observe" | "neutral";

/** A colored word; the word alone carries the meaning. */
export const badge = (tone: Tone, word: string): Markup => html`<span class="badge ${tone}">${word}</span>`;

/** A share as a bar, for a cell that also has the figure. */
export const bar = (part: number, total: number, tone: Tone): Markup => {
  const width = total === 0 ? 0 : Math.max(1, (100 * part) / total);
  return html`<svg class="bar ${tone}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" width="100" height="6"/><rect class="part" width="${width.toFixed(2)}" height="6"/></svg>`;
};

export const notice = (tone: Tone, heading: string, body: Content): Markup =>
  html`<div class="notice ${tone}"><p class="notice-head">${heading}</p>${body}</div>`;

/** Names and values, without those that have no value. */
export function facts(pairs: readonly (readonly [name: string, value: Content])[]): Markup {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== false);
  return html`<dl class="facts">${known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${isolated(value)}</dd></div>`)}</dl>`;
}

/** The service's sign: two who are connected. */
export const mark = html`<svg class="mark" viewBox="0 0 16 16" aria-hidden="true"><circle cx="3.5" cy="8" r="2.5"/><circle cx="12.5" cy="8" r="2.5"/><path d="M6 8h4"/></svg>`;

/** The head of every page. `styles`: names of assets. */
export const head = (title: string, styles: readonly string[]): Markup => html`<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Agent Authorization</title>
<link rel="icon" href="/console/assets/icon.svg" type="image/svg+xml">
${styles.map((name) => html`<link rel="stylesheet" href="/console/assets/${name}">\n`)}</head>`;
