import { readFileSync } from "node:fs";

/** Full names, groups and test joined by ` > `. */
export interface Report {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
}

interface VitestReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly status: string;
    }[];
  }[];
}

/** A run without a report, such as a hanging one, has neither passes nor failures. */
export function readReport(file: string): Report {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return { passed: [], failed: [] };
  }
  const results = (JSON.parse(text) as VitestReport).testResults.flatMap(({ assertionResults }) => assertionResults);
  const named = (status: string) =>
    results
      .filter((result) => result.status === status)
      .map(({ ancestorTitles, title }) => [...ancestorTitles.filter((group) => group !== ""), title].join(" > "));
  return { passed: named("passed"), failed: named("failed") };
}

/** Whether a test that ran matches `name` in the source, whose `%s` and `$member` match anything. */
export const isNamed = (fullName: string, name: string): boolean => new RegExp(runnerPattern(name)).test(fullName);

/** For `vitest --testNamePattern`, which joins groups and test as reports do. */
export const runnerPattern = (name: string): string => `(?:^| > )${patternOf(name)}$`;

const patternOf = (name: string): string =>
  name
    .split(/%(?:\.\d+)?[sdifjo]|\$[a-zA-Z.]+/)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("[^]*");
