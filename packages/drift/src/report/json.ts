import type { DriftReport } from "../drift-report.ts";

/** The whole report for programs, its members in snake_case like every JSON of the service. */
export const jsonReport = (report: DriftReport): string => `${JSON.stringify(snakeCased(report), null, 2)}\n`;

/** Every member name of a report is one of ours. */
function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      snakeCased(member),
    ]),
  );
}
