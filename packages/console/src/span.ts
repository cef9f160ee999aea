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

/** What is wrong with a span as the pages take it. */
export function spanIssues({ last, since, until }: Query): readonly Issue[] {
  const times = Object.entries({ since, until }).filter(([, text]) => text !== undefined && !isTime(text));
  return [
    ...times.map(([path]) => ({ path, message: "must be a day, as 2026-01-31, or a time, as 2026-01-31 12:00" })),
    ...lastIssues(last, since ?? until),
  ];
}

function lastIssues(last: string | undefined, moment: string | undefined): readonly Issue[] {
  if (last === undefined) return [];
  if (!lasts.some(([name]) => name === last)) {
    return [{ path: "last", message: `must be one of ${lasts.map(([name]) => name).join(", ")}` }];
  }
  return moment === undefined ? [] : [{ path: "last", message: "must be empty beside since and until" }];
}

const isTime = (text: string): boolean => !Number.isNaN(Date.parse(toInstant(text)));

/**
 * The query as the audit API takes it: `last` as the moment where it begins, times with seconds and offset. A `last` with
 * an issue stays, and the API refuses it.
 */
export function withInstants(asked: Query, nowMs: number): Query {
  const { last, ...others } = asked;
  const isLegal = lastIssues(last, asked.since ?? asked.until).length === 0;
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
