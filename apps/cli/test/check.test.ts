import { expect, test } from "vitest";
import { scripted } from "./script.ts";
import { svc } from "./svc.ts";

/** What `svc check` reports of a readiness that no real control plane can be brought to within a test. */
async function findingsOn(status: number, body: object, date: Date) {
  const headers = { Date: date.toUTCString() };
  const env = scripted({ "/readyz": { status, headers, body: JSON.stringify(body) } });
  const { stdout } = await svc(["check", "--json"], env);
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line): { level: string; what: string; remedy: string | null } => JSON.parse(line));
}

// An hour ahead of this machine: ages are relative to the control plane's clock.
const date = new Date(Date.now() + 3_600_000);
const minutesBefore = (minutes: number) => new Date(date.getTime() - minutes * 60_000).toISOString();

test.each<[string, object, string | undefined]>([
  ["is good where no row waits", { oldest_unsealed: null }, "good"],
  ["is good while rows wait within the time to seal", { oldest_unsealed: minutesBefore(6) }, "good"],
  ["is bad where a row waits longer than that", { oldest_unsealed: minutesBefore(12.5) }, "bad"],
])("the seal of the record %s", async (_name, sealing, level) => {
  const findings = await findingsOn(200, { status: "ok", sealing }, date);
  const [finding] = findings.filter(({ what }) => what.includes("sealed"));
  expect(finding?.level).toBe(level);
  if (level === "bad")
    expect([finding?.what, finding?.remedy]).toEqual([
      expect.stringContaining("12 minutes"),
      expect.stringContaining("pg_stat_activity"),
    ]);
});

test("sealing is not reported by a control plane without its state", async () => {
  const findings = await findingsOn(200, { status: "ok" }, date);
  expect(findings.filter(({ what }) => what.includes("sealed"))).toEqual([]);
});

test("the warnings of an enforcement point's start are findings, in the same words", async () => {
  const env = {
    ...scripted({ "/readyz": { status: 200, body: JSON.stringify({ status: "ok" }) } }),
    SVC_PEP_CONFIG: "pep.yaml",
    SVC_TELEMETRY_KEY: "k",
    SVC_PEP_LISTEN: "[::]:16001",
    SVC_PEP_SESSION_FILE: "session.json",
    SVC_UNKNOWN_SETTING: "x",
  };
  const pepFindings = async (more: Record<string, string> = {}) => {
    const { stdout } = await svc(["check", "--pep-settings-from-env", "--json"], { ...env, ...more });
    const lines = stdout.split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line)).filter(({ what }) => /^SVC_|enforcement point/.test(what));
  };
  expect(await pepFindings()).toEqual([
    { level: "note", what: expect.stringMatching(/^SVC_UNKNOWN_SETTING/), remedy: "Correct it, or remove it." },
    {
      level: "bad",
      what: "SVC_CONTROL_PLANE_URL: tokens travel in plain text",
      remedy: "Serve the control plane over TLS, and name its https address.",
    },
    {
      level: "bad",
      what: "SVC_PEP_SESSION_FILE: every client that reaches [::]:16001 acts as the agent",
      remedy: "Set SVC_PEP_LISTEN to 127.0.0.1:16001, or unset the file and have clients present a token.",
    },
  ]);
  expect(await pepFindings({ SVC_PEP_CONFIG: "", SVC_UNKNOWN_SETTING: "" })).toEqual([
    {
      level: "bad",
      what: expect.stringMatching(/^SVC_PEP_CONFIG/),
      remedy: "Every setting is listed in apps/pep/README.md.",
    },
  ]);
});

test("an unacknowledged restore is bad, with a link to its instructions", async () => {
  const error = { code: "restore_unacknowledged", message: "Not ready: restore." };
  const [finding] = await findingsOn(503, { error, details: { failing: ["restore"] } }, date);
  expect(finding).toEqual({
    level: "bad",
    what: "not ready: restore",
    remedy: expect.stringContaining('"Backup and restore"'),
  });
});
