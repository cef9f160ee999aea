import type { DecisionCount, DenyReason } from "@svc/core";
import type { ConsolePorts, RecentCalls } from "./ports.ts";
import { outcomeTone } from "./words.ts";

/** A tally counts the newest decisions of its span only, so that a page's time does not grow with the record. */
export const tallied = 30_000;
const buckets = 48;

export type Tally = Awaited<ReturnType<typeof readTally>>;

/** The decisions of a span that ends now, counted; with `of` those of an agent, a target or a person. */
export async function readTally(
  { reads, clock }: Pick<ConsolePorts, "reads" | "clock">,
  spanMs: number,
  { newest = tallied, of }: Partial<Pick<RecentCalls, "newest" | "of">> = {},
) {
  const untilMs = clock.nowMs();
  const bucketMs = spanMs / buckets;
  const counts = await reads.countDecisions({ sinceMs: untilMs - spanMs, bucketMs, newest, ...(of && { of }) });
  const total = sum(counts);
  /** The span has more decisions than were counted. */
  const isCut = total >= newest;
  // Before the oldest counted decision nothing is known, so nothing is shown.
  const sinceMs = isCut ? Math.min(...counts.map(({ bucketStartMs }) => bucketStartMs)) : untilMs - spanMs;
  return { sinceMs, untilMs, bucketMs, counts, total, isCut };
}

const sum = (counts: readonly Pick<DecisionCount, "count">[]): number =>
  counts.reduce((total, { count }) => total + count, 0);

/** How many of the counts match. */
export const countOf = (counts: readonly DecisionCount[], matches: (count: DecisionCount) => boolean): number =>
  sum(counts.filter(matches));

/** How many of the counts ended so. */
export const outcomesOf = (counts: readonly DecisionCount[], tone: ReturnType<typeof outcomeTone>): number =>
  countOf(counts, (count) => outcomeTone(count) === tone);

export const isTainted = ({ taint }: DecisionCount): boolean => taint === "untrusted_external";

/** One row for each bucket of the span, 0 in an empty one. They start in epoch seconds. */
export function overTime({ sinceMs, untilMs, bucketMs, counts }: Tally) {
  const first = Math.floor(sinceMs / bucketMs) * bucketMs;
  const byStart = Map.groupBy(counts, ({ bucketStartMs }) => bucketStartMs);
  return Array.from({ length: Math.ceil((untilMs - first) / bucketMs) }, (_, at) => {
    const startMs = first + at * bucketMs;
    const own = byStart.get(startMs) ?? [];
    return {
      start: startMs / 1000,
      allowed: outcomesOf(own, "allow"),
      denied: outcomesOf(own, "deny"),
      observed: outcomesOf(own, "observe"),
      tainted: countOf(own, isTainted),
    };
  });
}

export type OutcomeSeries = ReturnType<typeof overTime>;

/** Most frequent first. */
export function byReason(
  counts: readonly Pick<DecisionCount, "denyReason" | "count">[],
): readonly { reason: DenyReason; count: number }[] {
  const denied = counts.flatMap(({ denyReason: reason, count }) => (reason === null ? [] : [{ reason, count }]));
  return [...Map.groupBy(denied, ({ reason }) => reason)]
    .map(([reason, group]) => ({ reason, count: sum(group) }))
    .sort((a, b) => b.count - a.count);
}

/** Largest share of decisions that enforcing would block first. */
export const shareByScope = ({ counts }: Tally): readonly { scope: string; total: number; observed: number }[] =>
  [...Map.groupBy(counts, ({ scope }) => scope)]
    .map(([scope, group]) => ({ scope, total: sum(group), observed: outcomesOf(group, "observe") }))
    .sort((a, b) => b.observed / b.total - a.observed / a.total || b.total - a.total);
