import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import draft04 from "ajv-draft-04";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import { writeReport } from "../src/index.ts";
import { drifting, passing } from "./support/reports.ts";

/** SARIF 2.1.0's own schema, which comes with Microsoft's matchers. */
const schemaFile = createRequire(import.meta.url).resolve("@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json");
const ajv = new draft04.default({ strict: false, allErrors: true, unicodeRegExp: false });
addFormats.default(ajv as never);
const isSarif = ajv.compile(JSON.parse(readFileSync(schemaFile, "utf8")));

test.each([
  ["what was found", drifting],
  ["a pass", passing],
  [
    "manifests at absolute paths",
    { ...drifting, undeclared: drifting.undeclared.map((one) => ({ ...one, manifestFile: "/m/ä b.yaml" })) },
  ],
])("SARIF of %s is valid by SARIF's schema", (_, report) => {
  isSarif(JSON.parse(writeReport("sarif", report)));
  expect(isSarif.errors ?? []).toEqual([]);
});

test("the schema rejects a broken log", () => {
  const { runs, ...log } = JSON.parse(writeReport("sarif", drifting));
  expect(isSarif({ ...log, runs: [{ ...runs[0], results: [{ level: "error" }] }] })).toBe(false);
});
