import { expect, test } from "vitest";
import { optional, required, settingsMarkdown, sharedSettings, telemetryKeyRule, text } from "../src/index.ts";

test("the reference shows each setting's spellings, default and meaning", () => {
  const table = { ...sharedSettings, A: required(text, "One | two."), B: optional(text, "Key.", { secret: true }) };
  const lines = settingsMarkdown(table).split("\n");
  expect(lines).toContain("| `SVC_LOG_LEVEL` | `info` | The least severe log level that is written. |");
  expect(lines).toContain("| `A` | required | One \\| two. |");
  expect(lines).toContain("| `B` or `B_FILE` | none | Key. |");
});

test.each([
  [{ SVC_DEV: false, SVC_TELEMETRY_KEY: undefined }, true],
  [{ SVC_DEV: true, SVC_TELEMETRY_KEY: undefined }, false],
  [{ SVC_DEV: false, SVC_TELEMETRY_KEY: "k" }, false],
  [{ SVC_DEV: false }, false],
])("a pseudonym key is required outside development: %j", (values, isFault) => {
  expect(telemetryKeyRule(values) !== undefined).toBe(isFault);
});
