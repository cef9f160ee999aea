import { isAbsolute, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { denyReasons, denyReasonTable } from "@svc/core";
import type { ArtifactLocation, Location, Log, ReportingDescriptor, Result } from "sarif";
import { type DriftReport, driftErrorKinds } from "../drift-report.ts";
import { type Finding, findingsOf, type Place } from "./words.ts";

/** SARIF 2.1.0, for code scanning. */
export function sarifReport(report: DriftReport): string {
  const log: Log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "svc drift", rules } },
        // A run that proves nothing is not successful.
        invocations: [{ executionSuccessful: report.result !== "error" }],
        results: findingsOf(report).map(resultOf),
      },
    ],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

const rule = (id: Finding["rule"], text: string): ReportingDescriptor => ({ id, shortDescription: { text } });

const rules: ReportingDescriptor[] = [
  ...denyReasons.map((reason) => rule(reason, `The manifests deny a recorded call: ${denyReasonTable[reason].label}.`)),
  ...driftErrorKinds.map((kind) => rule(kind, `The run proves nothing: ${kind}.`)),
  rule("never_exercised", "A declared edge that no run exercised."),
];

/** A result of kind `pass` has the level `none` (SARIF 2.1.0, section 3.27.10). */
const severities = {
  error: { level: "error" },
  undeclared: { level: "error" },
  expected: { kind: "pass", level: "none" },
  unexercised: { level: "note" },
} as const satisfies Record<Finding["group"], Pick<Result, "kind" | "level">>;

const resultOf = ({ group, rule: ruleId, message, place }: Finding): Result => ({
  ruleId,
  ruleIndex: rules.findIndex(({ id }) => id === ruleId),
  ...severities[group],
  message: { text: message },
  ...(place.file !== undefined && { locations: [locationOf(place.file, place.line)] }),
});

const locationOf = (file: string, startLine: Place["line"]): Location => ({
  physicalLocation: {
    artifactLocation: artifactOf(file),
    ...(startLine !== undefined && { region: { startLine } }),
  },
});

/** Code scanning finds a file by its path below the source root, which is the working directory of the gate. */
function artifactOf(file: string): ArtifactLocation {
  const path = relative(process.cwd(), file).split(sep);
  const isBelow = !isAbsolute(path.join(sep)) && path[0] !== "..";
  if (!isBelow) return { uri: pathToFileURL(file).href };
  return { uri: path.map(encodeURIComponent).join("/"), uriBaseId: "%SRCROOT%" };
}
