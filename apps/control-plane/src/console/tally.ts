import type { DenyReason } from "@svc/core";
import type { DecisionCount } from "../ports/decision-counts.ts";
import type { Deps } from "../routes/deps.ts";
import { outcomeTone } from "./words.ts";

/** How many decisions a tally looks at, the newest of its span: so a page takes the same time however many there are. */
export const tallied = 30_000;
const buckets = 48;

/** What was decided in a span, counted. */
export interface Tally {
  /** Of what was looked at: later than was asked for, where that is not all. */
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly bucketMs: number;
  readonly counts: readonly DecisionCount[];
  readonly total: number;
  /** The span holds more than were looked at. */
  readonly isCut: boolean;
}

export async function readTally(
  { decisionCounts, clock }: Pick<Deps, "decisionCounts" | "clock">,
  spanMs: number,
): Promise<Tally> {
  const untilMs = clock.nowMs();
  const sinceMs = untilMs - spanMs;
  const bucketMs = spanMs / buckets;
  const counts = await decisionCounts.count({ sinceMs, bucketMs, newest: tallied });
  const total = sum(counts);
  const isCut = total >= tallied;
  // What lies before the oldest that was looked at is not nothing: it is not shown.
  const oldestMs = Math.min(...counts.map(({ bucketStartMs }) => bucketStartMs));
  return { sinceMs: isCut ? oldestMs : sinceMs, untilMs, bucketMs, counts, total, isCut };
}

export const sum = (counts: readonly DecisionCount[]): number => counts.reduce((total, { count }) => total + count, 0);

export interface OutcomeSeries {
  /** Epoch seconds. */
  readonly starts: readonly number[];
  readonly allowed: readonly number[];
  readonly denied: readonly number[];
  readonly observed: readonly number[];
  readonly tainted: readonly number[];
}

/** One figure for each bucket of the span, also where nothing was decided. */
export function overTime({ sinceMs, untilMs, bucketMs, counts }: Tally): OutcomeSeries {
  const first = Math.floor(sinceMs / bucketMs) * bucketMs;
  const starts = Array.from({ length: Math.ceil((untilMs - first) / bucketMs) }, (_, at) => first + at * bucketMs);
  const byStart = Map.groupBy(counts, ({ bucketStartMs }) => bucketStartMs);
  const figures = (matches: (count: DecisionCount) => boolean): number[] =>
    starts.map((start) => sum((byStart.get(start) ?? []).filter(matches)));
  return {
    starts: starts.map((start) => start / 1000),
    allowed: figures((count) => outcomeTone(count) === "allow"),
    denied: figures((count) => outcomeTone(count) === "deny"),
    observed: figures((count) => outcomeTone(count) === "observe"),
    tainted: figures(({ taint }) => taint === "untrusted_external"),
  };
}

/** Most frequent first. */
export function byReason({ counts }: Tally): readonly { reason: DenyReason; count: number }[] {
  const denied = counts.flatMap(({ denyReason: reason, count }) => (reason === null ? [] : [{ reason, count }]));
  return [...Map.groupBy(denied, ({ reason }) => reason)]
    .map(([reason, group]) => ({ reason, count: group.reduce((total, { count }) => total + count, 0) }))
    .sort((a, b) => b.count - a.count);
}

export interface ScopeShare {
  readonly scope: string;
  readonly total: number;
  readonly denied: number;
  readonly observed: number;
}

/** Those of which enforcing would block most come first. */
export const shareByScope = ({ counts }: Tally): readonly ScopeShare[] =>
  [...Map.groupBy(counts, ({ scope }) => scope)]
    .map(([scope, group]) => ({
      scope,
      total: sum(group),
      denied: sum(group.filter((count) => outcomeTone(count) === "deny")),
      observed: sum(group.filter((count) => outcomeTone(count) === "observe")),
    }))
    .sort((a, b) => b.observed / b.total - a.observed / a.total || b.total - a.total);
