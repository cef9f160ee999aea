import { settingsMarkdown, settingsReference, sharedSettings } from "@svc/host";
import { describe, expect, test } from "vitest";
import { pepSettings, readConfig } from "../src/start/config.ts";
import { settingsFindings } from "../src/start/weaknesses.ts";

const least = { SVC_CONTROL_PLANE_URL: "https://plane.internal", SVC_PEP_CONFIG: "/pep.yaml", SVC_TELEMETRY_KEY: "k" };
const faults = (settings: Record<string, string>) => {
  const read = readConfig({ ...least, ...settings });
  return read.ok ? [] : read.faults;
};

test("the defaults are those of the reference", () => {
  const read = readConfig(least);
  expect(read).toMatchObject({
    ok: true,
    warnings: [],
    config: {
      listen: { host: "127.0.0.1", port: 16_001 },
      adminListen: { host: "::", port: 16_020 },
      mode: "enforce",
      observe: { undecided: "block", unlisted: "forward" },
      graceSeconds: 25,
      renewalIdleSeconds: 300,
      limits: {
        bindCapBytes: 262_144,
        stepMs: 1_000,
        hopMs: 2_500,
        upstreamHeadersMs: 30_000,
        idleBodyMs: 60_000,
        redecideMs: 60_000,
      },
    },
  });
});

test("every fault is reported at once", () => {
  const read = readConfig({ SVC_PEP_MODE: "enforcing", SVC_PEP_BIND_CAP_BYTES: "786433", SVC_PEP_LISTN: "x" });
  expect(read.ok ? [] : read.faults.map((fault) => fault.split(":")[0])).toEqual([
    "SVC_CONTROL_PLANE_URL",
    "SVC_PEP_CONFIG",
    "SVC_PEP_MODE",
    "SVC_PEP_BIND_CAP_BYTES",
    "SVC_TELEMETRY_KEY",
    "SVC_PEP_LISTN",
  ]);
});

describe("settings that need each other", () => {
  test("an agent's key and its name", () => {
    expect(faults({ SVC_PEP_AGENT_NAME: "planner" })).toHaveLength(1);
    expect(faults({ SVC_PEP_AGENT_KEY_FILE: "/k" })).toHaveLength(1);
    expect(faults({ SVC_PEP_AGENT_KEY_FILE: "/k", SVC_PEP_AGENT_NAME: "planner" })).toEqual([]);
    expect(faults({ SVC_PEP_AGENT_KEY_FILE: "/k", SVC_PEP_AGENT_NAME: "Planner!" })).toHaveLength(1);
  });

  test("a public address and the bearer that redeems access tokens, which serves without it too", () => {
    const token = { SVC_PEP_ENFORCEMENT_TOKEN: "t" };
    expect(faults({ SVC_PEP_PUBLIC_URL: "https://pep.example" })).toEqual([
      expect.stringContaining("SVC_PEP_ENFORCEMENT_TOKEN"),
    ]);
    expect(faults({ SVC_PEP_PUBLIC_URL: "https://pep.example", ...token })).toEqual([]);
    expect(faults(token)).toEqual([]);
    for (const url of ["pep.example", "https://pep.example/?a", "https://pep.example/#a", "https://a:b@pep.example"]) {
      expect(faults({ SVC_PEP_PUBLIC_URL: url, ...token })).toHaveLength(1);
    }
  });

  test("development needs no telemetry key", () => {
    expect(faults({ SVC_TELEMETRY_KEY: "", SVC_DEV: "true" })).toEqual([]);
    expect(faults({ SVC_TELEMETRY_KEY: "" })).toHaveLength(1);
  });
});

test.each([
  ["http://pep.internal:16001", ["SVC_PEP_PUBLIC_URL: clients' access tokens travel in plain text"]],
  ["https://pep.internal", []],
  ["http://127.0.0.1:16001", []],
])("a public address %s has the weaknesses %j", (SVC_PEP_PUBLIC_URL, want) => {
  const findings = settingsFindings(readConfig({ ...least, SVC_PEP_PUBLIC_URL, SVC_PEP_ENFORCEMENT_TOKEN: "t" }));
  expect(findings.filter(({ level }) => level === "bad").map(({ what }) => what)).toEqual(want);
});

test.each([
  ["another app's setting", "SVC_ADMIN_TOKEN", []],
  ["a service link", "SVC_PEP_SERVICE_PORT", []],
  ["an unknown setting", "SVC_WHATEVER_ELSE", [expect.stringContaining("SVC_WHATEVER_ELSE")]],
])("%s", (_name, setting, want) => {
  expect(readConfig({ ...least, [setting]: "x" })).toMatchObject({ ok: true, warnings: want });
});

test("the reference documents every setting in one line", () => {
  const table = { ...pepSettings, ...sharedSettings };
  for (const { doc } of settingsReference(table)) expect(doc).toMatch(/^[^\n]{10,}\.$/);
  expect(settingsMarkdown(table).split("\n")).toHaveLength(Object.keys(table).length + 3);
});
