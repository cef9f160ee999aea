import type { DriftReport } from "../drift-report.ts";
import { type Finding, findingsOf, placedMessage, summaryWords } from "./words.ts";

/** JUnit XML: one failed case for each undeclared edge, one in error for each error, a skipped one for each warning. */
export function junitReport(report: DriftReport): string {
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
