import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parse } from "yaml";
import { clerkManifest } from "./stack.ts";
import { main, svc } from "./svc.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-drift-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "clerk.json");
writeFileSync(file, JSON.stringify(clerkManifest));

const edge = {
  scope: "books",
  chain: ["clerk"],
  caller: "clerk",
  target: "http:ledger/read",
  target_kind: "tool",
  data_class: "finance.entries",
  hop: 2,
  taint: "trusted_internal",
  outcome: "allow",
};
const traceOf = (...edges: object[]) => {
  const run = crypto.randomUUID();
  const lines = edges.map((one, index) => ({ v: 1, run, seq: index + 1, ts: new Date().toISOString(), ...one }));
  const path = join(folder, `${run}.jsonl`);
  const end = { v: 1, run, end: true, events: edges.length };
  writeFileSync(path, [...lines, end].map((line) => `${JSON.stringify(line)}\n`).join(""));
  return path;
};

test.each([
  ["what is declared", () => traceOf(edge), 0],
  ["what is not", () => traceOf({ ...edge, target: "http:ledger/shred" }), 1],
  ["a trace that is not there", () => join(folder, "nowhere"), 2],
  ["what was not decided", () => traceOf(edge, { ...edge, outcome: "undecided" }), 2],
] as const)("exits for %s as documented", async (_name, trace, code) => {
  const metrics = join(folder, "drift.prom");
  const options = ["--trace", trace(), "--manifests", file, "--metrics-file", metrics];
  const checked = await svc(["drift", "check", ...options, "--json"]);
  expect(checked.code).toBe(code);
  expect(() => JSON.parse(checked.stdout)).not.toThrow();
  expect(readFileSync(metrics, "utf8")).toContain("svc_drift_runs_total");
});

test("--expect-denied names calls whose deny is meant, --scope the scope of calls without one", async () => {
  const denied = join(folder, "denied.yaml");
  writeFileSync(denied, '- {scope: books, caller: clerk, target: "http:ledger/shred", reason: TARGET_NOT_DECLARED}');
  const trace = traceOf(
    { ...edge, scope: null },
    { ...edge, scope: null, target: "http:ledger/shred", outcome: "deny" },
  );
  const check = ["drift", "check", "--trace", trace, "--manifests", file, "--scope", "books"];
  expect(await svc(check)).toMatchObject({ code: 1 });
  const expected = await svc([...check, "--expect-denied", denied]);
  expect(expected).toMatchObject({ code: 0, stdout: expect.stringContaining("denied once, as expected") });
});

test.each(["github", "gitlab"])("writes a workflow for %s, and overwrites none", async (forge) => {
  const init = () =>
    spawnSync(process.execPath, [main, "drift", "init", "--for", forge, "--json"], {
      cwd: folder,
      encoding: "utf8",
    });
  const first = init();
  const path = join(folder, JSON.parse(first.stdout).file);
  expect(existsSync(path)).toBe(true);
  const workflow = readFileSync(path, "utf8");
  expect(JSON.stringify(parse(workflow))).toContain("npx --no -- svc drift check --trace svc-trace");
  // Of what others publish, nothing without its whole version.
  for (const [, version] of workflow.matchAll(/(?:uses: \S+@v|image: \S+:)(\S+)/g)) {
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
  }
  expect(init()).toMatchObject({ status: 1, stdout: "" });
});
