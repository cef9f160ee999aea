import type { DriftReport } from "../drift-report.ts";
import { githubReport } from "./github.ts";
import { jsonReport } from "./json.ts";
import { junitReport } from "./junit.ts";
import { sarifReport } from "./sarif.ts";
import { textReport } from "./text.ts";

/** The forms in which a report can be written. */
export const reportFormats = ["text", "json", "junit", "sarif", "github"] as const;
/** One of `reportFormats`. */
export type ReportFormat = (typeof reportFormats)[number];

const writers: Readonly<Record<ReportFormat, (report: DriftReport) => string>> = {
  text: textReport,
  json: jsonReport,
  junit: junitReport,
  sarif: sarifReport,
  github: githubReport,
};

/** The report as text of that format, its last line break included. */
export const writeReport = (format: ReportFormat, report: DriftReport): string => writers[format](report);
