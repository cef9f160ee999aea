import type { DriftReport } from "../drift-report.ts";
import { edgeWords, placeWords, summaryWords, undeclaredWords, unexercisedWords } from "./words.ts";

/** JUnit XML: one failed case for each undeclared edge, one in error for each error, a skipped one for each warning. */
export function junitReport(report: DriftReport): string {
  const { undeclared, errors, warnings } = report;
  const cases = [
    ...errors.map(({ kind, message, ...place }) =>
      testCase("error", kind, outcome("error", kind, placeWords(place) + message)),
    ),
    ...undeclared.map((edge) =>
      testCase("undeclared", edgeWords(edge), outcome("failure", edge.reason, undeclaredWords(edge))),
    ),
    ...warnings.map((edge) => {
      const words = unexercisedWords(edge);
      return testCase("unexercised", words, `<skipped message="${escaped(words)}"/>`);
    }),
    ...(report.result === "pass" ? [testCase("gate", summaryWords(report), "")] : []),
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

const outcome = (element: "failure" | "error", type: string, message: string): string =>
  `<${element} type="${type}" message="${escaped(message)}"/>`;

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** XML 1.0 has no place for most control characters and for lone surrogates, escaped or not. */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replace(/[&<>"]/g, (character) => entities[character] ?? character);
