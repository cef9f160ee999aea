import type { Outcome } from "./stand.ts";

const columns = [
  "injected",
  "times",
  "calls",
  "passed",
  "denied",
  "refused",
  "no response",
  "replays refused",
] as const;

/** A Markdown table, row by row. */
export const headOfTable = `| ${[...columns, "lost", "broken"].join(" | ")} |\n|${" --- |".repeat(columns.length + 2)}\n`;

export function rowOf({ scenario, injected, calls, replaysRefused, lost, violations }: Outcome): string {
  const { made, passed, denied, refused, lost: unanswered } = calls;
  const cells = [scenario, injected, made, passed, denied, refused, unanswered, replaysRefused];
  return `| ${[...cells, lost.length, violations.length].join(" | ")} |\n`;
}
