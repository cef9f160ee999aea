import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chartFolder } from "./helm.ts";
import { documentedValues, valuesMarkdown } from "./values-table.ts";

export const readmeFile = join(chartFolder, "README.md");

/** The chart's README with the table of its values file. */
export function readmeOf(readme: string): string {
  const table = valuesMarkdown(documentedValues(readFileSync(join(chartFolder, "values.yaml"), "utf8")));
  const marks = /(<!-- values -->\n)[\s\S]*(\n<!-- \/values -->)/;
  if (!marks.test(readme))
    throw new Error("the README has no place for the values: <!-- values --> ... <!-- /values -->");
  return readme.replace(marks, (_all, begin: string, end: string) => begin + table + end);
}
