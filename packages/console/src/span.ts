import type { Field, Issue } from "./form.ts";
import type { Query } from "./ports.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const lasts: readonly (readonly [name: string, label: string, ms: number])[] = [
  ["15m", "last 15 minutes", 15 * minuteMs],
  ["1h", "last hour", hourMs],
  ["24h", "last 24 hours", 24 * hourMs],
  ["7d", "last 7 days", 7 * 24 * hourMs],
];

/** A span of time: back from now, or between two moments. */
export const spanFields: readonly Field[] = [
  { name: "last", label: "Time", options: lasts.map(([name, label]) => [name, label] as const), unchosen: "any time" },
  { name: "since", label: "Since (UTC)", isTime: true },
  { name: "until", label: "Until (UTC)", isTime: true },
];

/** What is wrong with `last`, which only the pages take. */
export function lastIssues({ last, since, until }: Query): readonly Issue[] {
  if (last === undefined) return [];
  if (!lasts.some(([name]) => name === last)) {
    return [{ path: "last", message: `must be one of ${lasts.map(([name]) => name).join(", ")}` }];
  }
  if (since === undefined && until === undefined) return [];
  return [{ path: "last", message: "must be empty beside since and until" }];
}

/**
 * The query as the audit API takes it: `last` as the moment where it begins, times with seconds and offset. A `last` with
 * an issue stays, and the API refuses it.
 */
export function withInstants(asked: Query, nowMs: number): Query {
  const { last, ...others } = asked;
  const isLegal = lastIssues(asked).length === 0;
  const query = isLegal ? others : asked;
  const lastMs = lasts.find(([name]) => name === last)?.[2];
  return {
    ...query,
    ...(isLegal && lastMs !== undefined && { since: new Date(nowMs - lastMs).toISOString() }),
    ...(query.since !== undefined && { since: toInstant(query.since) }),
    ...(query.until !== undefined && { until: toInstant(query.until) }),
  };
}

/** Date and time as people type them: without seconds or offset. */
const loose = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?)?$/;

function toInstant(text: string): string {
  const [, day, minute = "00:00", seconds = ":00"] = loose.exec(text.replace(/Z$/, "")) ?? [];
  return day === undefined ? text : `${day}T${minute}${seconds}Z`;
}
