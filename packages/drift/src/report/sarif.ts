import { isAbsolute, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { type DenyReason, denyReasons, denyReasonTable } from "@svc/core";
import type { Location, Log, ReportingDescriptor, Result } from "sarif";
import { type DriftErrorKind, type DriftReport, driftErrorKinds } from "../drift-report.ts";
import { placeOf, undeclaredWords, unexercisedWords } from "./words.ts";

type RuleId = DenyReason | DriftErrorKind | "never_exercised";

/** SARIF 2.1.0, for code scanning. */
export function sarifReport(report: DriftReport): string {
  const results = [
    ...report.errors.map((error) => result(error.kind, "error", error.message, locations(error))),
    ...report.undeclared.map((edge) => result(edge.reason, "error", undeclaredWords(edge), locations(placeOf(edge)))),
    ...report.warnings.map((edge) =>
      result("never_exercised", "note", unexercisedWords(edge), locations({ file: edge.manifestFile })),
    ),
  ];
  const log: Log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "svc drift", rules } },
        // A run that proves nothing is not successful.
        invocations: [{ executionSuccessful: report.result !== "error" }],
        results,
      },
    ],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

const rule = (id: RuleId, text: string): ReportingDescriptor => ({ id, shortDescription: { text } });

const rules: ReportingDescriptor[] = [
  ...denyReasons.map((reason) => rule(reason, `The manifests deny a recorded call: ${denyReasonTable[reason].label}.`)),
  ...driftErrorKinds.map((kind) => rule(kind, `The run proves nothing: ${kind}.`)),
  rule("never_exercised", "A declared edge that no run exercised."),
];

const result = (ruleId: RuleId, level: "error" | "note", text: string, where: Location[]): Result => ({
  ruleId,
  ruleIndex: rules.findIndex(({ id }) => id === ruleId),
  level,
  message: { text },
  ...(where.length > 0 && { locations: where }),
});

function locations({ file, line }: { readonly file?: string | undefined; readonly line?: number }): Location[] {
  if (file === undefined) return [];
  const region = line === undefined ? {} : { region: { startLine: line } };
  return [{ physicalLocation: { artifactLocation: { uri: uriOf(file) }, ...region } }];
}

/** A relative reference stays one, so that it names the same file in the repository's own tree. */
const uriOf = (file: string): string =>
  isAbsolute(file) ? pathToFileURL(file).href : file.split(sep).map(encodeURIComponent).join("/");
