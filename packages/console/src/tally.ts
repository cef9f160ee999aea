import type { DenyReason } from "@svc/core";
import type { ConsolePorts, DecisionCount } from "./ports.ts";
import { outcomeTone } from "./words.ts";

/** A tally counts the newest decisions of its span only, so that a page's time does not grow with the record. */
export const tallied = 30_000;
const buckets = 48;

/** The decisions of a span, counted. */
export interface Tally {
  /** Where the counted part of the span begins. */
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly bucketMs: number;
  readonly counts: readonly DecisionCount[];
  readonly total: number;
  /** The span has more decisions than were counted. */
  readonly isCut: boolean;
}

export async function readTally(
  { reads, clock }: Pick<ConsolePorts, "reads" | "clock">,
  spanMs: number,
): Promise<Tally> {
  const untilMs = clock.nowMs();
  const bucketMs = spanMs / buckets;
  const counts = await reads.countDecisions({ sinceMs: untilMs - spanMs, bucketMs, newest: tallied });
  const total = sum(counts);
  const isCut = total >= tallied;
  // Before the oldest counted decision nothing is known, so nothing is shown.
  const sinceMs = isCut ? Math.min(...counts.map(({ bucketStartMs }) => bucketStartMs)) : untilMs - spanMs;
  return { sinceMs, untilMs, bucketMs, counts, total, isCut };
}

const sum = (counts: readonly DecisionCount[]): number => counts.reduce((total, { count }) => total + count, 0);

/** How many of the counts match. */
export const countOf = (counts: readonly DecisionCount[], matches: (count: DecisionCount) => boolean): number =>
  sum(counts.filter(matches));

export const isTainted = ({ taint }: DecisionCount): boolean => taint === "untrusted_external";

export interface OutcomeSeries {
  /** Epoch seconds. */
  readonly starts: readonly number[];
  readonly allowed: readonly number[];
  readonly denied: readonly number[];
  readonly observed: readonly number[];
  readonly tainted: readonly number[];
}

/** One figure for each bucket of the span, 0 in an empty one. */
export function overTime({ sinceMs, untilMs, bucketMs, counts }: Tally): OutcomeSeries {
  const first = Math.floor(sinceMs / bucketMs) * bucketMs;
  const starts = Array.from({ length: Math.ceil((untilMs - first) / bucketMs) }, (_, at) => first + at * bucketMs);
  const byStart = Map.groupBy(counts, ({ bucketStartMs }) => bucketStartMs);
  const figures = (matches: (count: DecisionCount) => boolean): number[] =>
    starts.map((start) => countOf(byStart.get(start) ?? [], matches));
  return {
    starts: starts.map((start) => start / 1000),
    allowed: figures((count) => outcomeTone(count) === "allow"),
    denied: figures((count) => outcomeTone(count) === "deny"),
    observed: figures((count) => outcomeTone(count) === "observe"),
    tainted: figures(isTainted),
  };
}

/** Most frequent first. */
export function byReason({ counts }: Tally): readonly { reason: DenyReason; count: number }[] {
  const denied = counts.flatMap(({ denyReason: reason, count }) => (reason === null ? [] : [{ reason, count }]));
  return [...Map.groupBy(denied, ({ reason }) => reason)]
    .map(([reason, group]) => ({ reason, count: group.reduce((total, { count }) => total + count, 0) }))
    .sort((a, b) => b.count - a.count);
}

/** Largest share of decisions that enforcing would block first. */
export const shareByScope = ({ counts }: Tally): readonly { scope: string; total: number; observed: number }[] =>
  [...Map.groupBy(counts, ({ scope }) => scope)]
    .map(([scope, group]) => ({
      scope,
      total: sum(group),
      observed: countOf(group, (count) => outcomeTone(count) === "observe"),
    }))
    .sort((a, b) => b.observed / b.total - a.observed / a.total || b.total - a.total);
