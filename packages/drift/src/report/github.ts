import type { DriftReport } from "../drift-report.ts";
import { placeOf, summaryWords, undeclaredWords, unexercisedWords } from "./words.ts";

interface Place {
  readonly file?: string | undefined;
  readonly line?: number | undefined;
}

/** Workflow commands by which GitHub Actions annotates files. */
export function githubReport(report: DriftReport): string {
  const lines = [
    ...report.errors.map((error) => command("error", `drift: ${error.kind}`, error, error.message)),
    ...report.undeclared.map((edge) => command("error", `drift: ${edge.reason}`, placeOf(edge), undeclaredWords(edge))),
    ...report.warnings.map((edge) =>
      command("warning", "drift: never exercised", { file: edge.manifestFile }, unexercisedWords(edge)),
    ),
    command("notice", "drift", {}, summaryWords(report)),
    "",
  ];
  return lines.join("\n");
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
