import { InvalidArgumentError } from "commander";

const units = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of a span such as 90s, 15m, 24h, 7d; undefined for any other text. */
function msOf(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return unit === undefined ? undefined : Number(count) * units[unit as keyof typeof units];
}

/** RFC 3339; undefined for any other text. */
function timeOf(text: string): string | undefined {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** A time, or a span before now. */
export function past(text: string): string {
  const span = msOf(text);
  const found = span === undefined ? timeOf(text) : new Date(Date.now() - span).toISOString();
  if (found !== undefined) return found;
  throw new InvalidArgumentError("It must be a time such as 2026-01-31T08:00Z, or a span such as 15m, 24h, 7d.");
}

/** A time to come. */
export function future(text: string): string {
  const found = timeOf(text);
  if (found !== undefined && Date.parse(found) > Date.now()) return found;
  throw new InvalidArgumentError("It must be a time to come, such as 2030-01-31T08:00Z; for a span there is --for.");
}

/** Milliseconds. */
export function spanMs(text: string): number {
  const span = msOf(text);
  if (span !== undefined && span > 0) return span;
  throw new InvalidArgumentError("It must be a span such as 90s, 10m, 24h, 7d.");
}

/** The end of a span that begins now. */
export const spanFromNow = (text: string): string => new Date(Date.now() + spanMs(text)).toISOString();
