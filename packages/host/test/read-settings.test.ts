import { describe, expect, test } from "vitest";
import {
  commaList,
  defaulted,
  everySettingName,
  httpUrl,
  listenAddress,
  oneOf,
  optional,
  readSettings,
  required,
  type SettingValues,
  text,
  wholeNumber,
} from "../src/index.ts";

const table = {
  SVC_PEP_LISTEN: defaulted(listenAddress, "127.0.0.1:16001", "Where it listens."),
  SVC_PEP_MODE: defaulted(oneOf(["enforce", "observe"]), "enforce", "Whether it blocks."),
  SVC_CONTROL_PLANE_URL: required(httpUrl, "Where the control plane is."),
  SVC_ADMIN_TOKEN: optional(commaList, "Bearers.", { secret: true }),
  PORT: defaulted(wholeNumber({ min: 0, max: 65_535 }), "8080", "The port."),
  SVC_LABEL: optional(text, "A label."),
};
const url = { SVC_CONTROL_PLANE_URL: "https://plane.internal" };
const noFile = (path: string): string => {
  throw new Error(`no ${path}`);
};

const faultsOf = (environment: Record<string, string>, options = {}) => {
  const result = readSettings(table, environment, { readFile: noFile, ...options });
  return result.ok ? [] : result.faults;
};
const warningsOf = (environment: Record<string, string>) =>
  readSettings(table, { ...url, ...environment }, { knownElsewhere: everySettingName }).warnings;

test("defaults are read like any other text and an empty variable counts as absent", () => {
  const result = readSettings(table, { ...url, PORT: "", SVC_LABEL: "" });
  expect(result).toMatchObject({
    ok: true,
    values: { SVC_PEP_LISTEN: { host: "127.0.0.1", port: 16_001 }, SVC_PEP_MODE: "enforce", PORT: 8080 },
  });
  if (result.ok) {
    const values: SettingValues<typeof table> = result.values;
    const label: string | undefined = values.SVC_LABEL;
    const address: { host: string; port: number } = values.SVC_PEP_LISTEN;
    expect([label, address.host]).toEqual([undefined, "127.0.0.1"]);
  }
});

test("every fault is reported at once, one line each, and no line shows a value", () => {
  const faults = faultsOf({ SVC_PEP_LISTEN: "s3cret", PORT: "s3cret", SVC_PEP_MODE: "s3cret\nline" });
  expect(faults).toEqual([
    "SVC_PEP_LISTEN: must be host:port",
    "SVC_PEP_MODE: must be one of enforce, observe",
    "SVC_CONTROL_PLANE_URL: is required",
    "PORT: must be a whole number from 0 to 65535",
  ]);
  expect(faults.join("")).not.toContain("s3cret");
});

describe("a secret may be given in a file", () => {
  test.each([
    ["its last line end does not count", { SVC_ADMIN_TOKEN_FILE: "/t" }, () => "one,two\n", []],
    ["an unreadable file is a fault", { SVC_ADMIN_TOKEN_FILE: "/t" }, noFile, ["cannot be read"]],
    ["an empty file is a fault", { SVC_ADMIN_TOKEN_FILE: "/t" }, () => "\n", ["is empty"]],
    ["both spellings are a fault", { SVC_ADMIN_TOKEN_FILE: "/t", SVC_ADMIN_TOKEN: "x" }, noFile, ["given twice"]],
  ])("%s", (_name, environment, readFile, want) => {
    const faults = faultsOf({ ...url, ...environment }, { readFile });
    expect(faults).toEqual(want.map((words) => expect.stringContaining(words)));
  });

  test("a setting that is not a secret has no file spelling", () => {
    expect(warningsOf({ SVC_LABEL_FILE: "/t" })).toEqual(["SVC_LABEL_FILE: is not a setting and is ignored"]);
  });
});

describe("an unknown name", () => {
  test.each([
    ["SVC_PEP_MOD", "SVC_PEP_MODE"],
    ["SVC_PEP_MOED", "SVC_PEP_MODE"],
    ["SVC_PEPMODEL", "SVC_PEP_MODE"],
    ["SVC_ADMIN_TOKENS", "SVC_ADMIN_TOKEN"],
    ["SVC_ADMIN_TOKEN_FIL", "SVC_ADMIN_TOKEN_FILE"],
    ["SVC_ISUER", "SVC_ISSUER"],
  ])("%s one or two edits from %s stops the start", (name, meant) => {
    expect(faultsOf({ ...url, [name]: "x" }, { knownElsewhere: everySettingName })).toEqual([
      `${name}: is not a setting; did you mean ${meant}?`,
    ]);
  });

  test.each(["SVC_PEP_M", "SVC_COLOUR_OF_LOGS"])("%s farther from every known one is one warning", (name) => {
    expect(warningsOf({ [name]: "x" })).toEqual([`${name}: is not a setting and is ignored`]);
  });

  test.each([
    "SVC_PEP_SERVICE_HOST",
    "SVC_PEP_SERVICE_PORT",
    "SVC_PEP_SERVICE_PORT_HTTP",
    "SVC_PEP_PORT",
    "SVC_PEP_PORT_16001_TCP",
    "SVC_PEP_PORT_16001_TCP_ADDR",
    "SVC_ISSUER",
    "SVC_ISSUER_PRIVATE_KEY_FILE",
    "SVC_TRACE_PATH",
    "PEP_MODE",
  ])("%s is a service link, another app's setting or not ours, and is ignored", (name) => {
    expect(warningsOf({ [name]: "x" })).toEqual([]);
    expect(faultsOf({ ...url, [name]: "x" }, { knownElsewhere: everySettingName })).toEqual([]);
  });
});

test("a rule over several settings reports beside the others and never gets an invalid setting", () => {
  const seen: unknown[] = [];
  const rules = [
    (values: object) => {
      seen.push(Object.keys(values).includes("PORT"));
      return "SVC_LABEL: needs SVC_ADMIN_TOKEN";
    },
  ];
  expect(faultsOf({ ...url, PORT: "no" }, { rules })).toEqual([
    "PORT: must be a whole number from 0 to 65535",
    "SVC_LABEL: needs SVC_ADMIN_TOKEN",
  ]);
  expect(seen).toEqual([false]);
});
