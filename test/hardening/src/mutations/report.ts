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

/** A run that left no report, as one that hung, has neither passed nor failed anything. */
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

/** Whether a test that ran is one that a source calls `name`, whose `%s` and `$member` stand for anything. */
export function isNamed(fullName: string, name: string): boolean {
  const pattern = name
    .split(/%(?:\.\d+)?[sdifjo]|\$[a-zA-Z.]+/)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("[^]*");
  return new RegExp(`(?:^| > )${pattern}$`).test(fullName);
}
