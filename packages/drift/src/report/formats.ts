import { snakeCase } from "@svc/core";
import type { DriftReport } from "../drift-report.ts";
import { sarifReport } from "./sarif.ts";
import { type Finding, findingsOf, type Place, placedMessage, summaryWords } from "./words.ts";

/** The forms in which a report can be written. */
export const reportFormats = ["text", "json", "junit", "sarif", "github"] as const;
/** One of `reportFormats`. */
export type ReportFormat = (typeof reportFormats)[number];

const writers: Readonly<Record<ReportFormat, (report: DriftReport) => string>> = {
  text: textReport,
  json: (report) => `${JSON.stringify(snakeCased(report), null, 2)}\n`,
  junit: junitReport,
  sarif: sarifReport,
  github: githubReport,
};

/** The report as text of that format, its last line break included. */
export const writeReport = (format: ReportFormat, report: DriftReport): string => writers[format](report);

const labels = {
  error: "error",
  undeclared: "undeclared",
  expected: "expected denial",
  unexercised: "warning",
} as const;

/** For a terminal: what is wrong first, the verdict last. */
function textReport(report: DriftReport): string {
  const lines = findingsOf(report).map((finding) => `${labels[finding.group]}: ${placedMessage(finding)}`);
  return `${[...lines, summaryWords(report)].join("\n")}\n`;
}

/** Every member name of a report is one of ours. */
function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [snakeCase(name), snakeCased(member)]));
}

/** Workflow commands by which GitHub Actions annotates files. */
function githubReport(report: DriftReport): string {
  const lines = findingsOf(report).map(({ group, rule, message, place }) => {
    if (group === "unexercised") return command("warning", "drift: never exercised", place, message);
    if (group === "expected") return command("notice", "drift: expected denial", place, message);
    return command("error", `drift: ${rule}`, place, message);
  });
  return `${[...lines, command("notice", "drift", {}, summaryWords(report))].join("\n")}\n`;
}

function command(kind: "error" | "warning" | "notice", title: string, { file, line }: Place, message: string): string {
  const properties = [
    ...(file === undefined ? [] : [`file=${property(file)}`]),
    ...(line === undefined ? [] : [`line=${line}`]),
    `title=${property(title)}`,
  ];
  return `::${kind} ${properties.join(",")}::${data(message)}`;
}

const data = (text: string): string => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
const property = (text: string): string => data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");

/**
 * JUnit XML: one failed case for each undeclared edge, one in error for each error, a passed one for each expected denial,
 * a skipped one for each warning.
 */
function junitReport(report: DriftReport): string {
  const { undeclared, errors, warnings, result } = report;
  const cases = [
    ...findingsOf(report).map((finding) => testCase(finding.group, finding.name, outcomeOf(finding))),
    ...(result === "pass" ? [testCase("gate", summaryWords(report), "")] : []),
  ];
  const counts = `tests="${cases.length}" failures="${undeclared.length}" errors="${errors.length}" skipped="${warnings.length}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="svc drift" ${counts}>`,
    ...cases.map((one) => `    ${one}`),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

const testCase = (group: string, name: string, content: string): string =>
  `<testcase classname="svc.drift.${group}" name="${escaped(name)}">${content}</testcase>`;

function outcomeOf(finding: Finding): string {
  if (finding.group === "expected") return "";
  const message = `message="${escaped(placedMessage(finding))}"`;
  if (finding.group === "unexercised") return `<skipped ${message}/>`;
  return `<${finding.group === "error" ? "error" : "failure"} type="${finding.rule}" ${message}/>`;
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** XML 1.0 has no place for most control characters and for lone surrogates, escaped or not. */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replace(/[&<>"]/g, (character) => entities[character] ?? character);
