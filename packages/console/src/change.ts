import { html } from "hono/html";
import { count, type Markup } from "./markup.ts";
import type { ConsolePorts } from "./ports.ts";
import { type Tally, tallied } from "./tally.ts";

/** The same part of the span before; undefined where it has more decisions than are counted. */
export async function readBefore({ reads }: Pick<ConsolePorts, "reads">, { sinceMs, untilMs }: Tally, spanMs: number) {
  const counts = await reads.countDecisions({
    ...{ sinceMs: sinceMs - spanMs, untilMs: untilMs - spanMs },
    ...{ bucketMs: spanMs, newest: tallied },
  });
  return counts.reduce((total, row) => total + row.count, 0) < tallied ? counts : undefined;
}

/** Beyond it a percentage says less than the figure itself. */
const mostPercent = 999;

/** A figure's change in words. */
export function change(now: number, before: number | undefined): Markup | undefined {
  if (before === undefined) return undefined;
  const percent = before === 0 ? 0 : Math.round((100 * (now - before)) / before);
  const words =
    before === 0 || percent === 0 || percent > mostPercent
      ? `before: ${count(before)}`
      : `${count(Math.abs(percent))} % ${percent > 0 ? "more" : "fewer"} than before`;
  return html`<span class="change-words" title="${count(before)} in the same part of the span before">${words}</span>`;
}
