import type { Span } from "../../ports/audit-reads.ts";

/** Of the counts, coarsest first. A slice is of ten minutes. */
const grains = ["month", "day", "hour", "slice"] as const;
type Grain = (typeof grains)[number];

/** Whole buckets of one grain; open where a bound is missing. */
export interface WholeBuckets extends Span {
  readonly grain: Grain;
}

/** Less than a slice. */
export interface PartOfSlice {
  readonly sliceMs: number;
  readonly sinceMs: number;
  readonly untilMs: number;
}

export interface SpanParts {
  readonly whole: readonly WholeBuckets[];
  /** At most two. */
  readonly partial: readonly PartOfSlice[];
}

const lengthMs = { day: 86_400_000, hour: 3_600_000, slice: 600_000 } as const satisfies Partial<Record<Grain, number>>;

/** Splits a span into the fewest whole buckets and what is left of it at its ends. */
export function partsOf({ sinceMs = -Infinity, untilMs = Infinity }: Span): SpanParts {
  const whole: WholeBuckets[] = [];
  const partial: PartOfSlice[] = [];
  const split = (since: number, until: number, [grain, ...finer]: readonly Grain[]): void => {
    if (since >= until) return;
    if (grain === undefined) {
      partial.push({ sliceMs: startOf("slice", since), sinceMs: since, untilMs: until });
      return;
    }
    const [first, end] = [endOf(grain, since - 1), startOf(grain, until)];
    if (first < end) whole.push({ grain, sinceMs: finite(first), untilMs: finite(end) });
    if (first > end) split(since, until, finer);
    else
      for (const [from, to] of [
        [since, first],
        [end, until],
      ] as const)
        split(from, to, finer);
  };
  split(sinceMs, untilMs, grains);
  return { whole, partial };
}

const finite = (ms: number): number | undefined => (Number.isFinite(ms) ? ms : undefined);

/** Of the bucket that has this millisecond, in UTC. */
function startOf(grain: Grain, ms: number): number {
  if (grain !== "month") return Math.floor(ms / lengthMs[grain]) * lengthMs[grain];
  return Number.isFinite(ms) ? startOfMonth(ms, 0) : ms;
}

function endOf(grain: Grain, ms: number): number {
  if (grain !== "month") return startOf(grain, ms) + lengthMs[grain];
  return Number.isFinite(ms) ? startOfMonth(ms, 1) : ms;
}

function startOfMonth(ms: number, monthsLater: number): number {
  const time = new Date(ms);
  return new Date(0).setUTCFullYear(time.getUTCFullYear(), time.getUTCMonth() + monthsLater, 1);
}
