import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { manifestOf, run, workspace } from "./src/pack.ts";
import { blocksOf } from "./src/quickstarts.ts";
import { type Registry, startRegistry } from "./src/registry.ts";

/** The guide (docs/guides/packages.md#install-the-packages), typed into an empty project. The registry has none of our packages. */
const blocks = blocksOf(join("docs", "guides", "packages.md"));
let work: string;
let project: string;
let registry: Registry;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), "svc-guide-"));
  project = join(work, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "project", private: true }));
  registry = await startRegistry([], work);
  await typed("pack", workspace, process.env);
  await inProject("scope");
});
afterAll(() => {
  registry?.close();
  rmSync(work, { recursive: true, force: true });
});

/** One block in a shell. */
async function typed(name: string, cwd: string, env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const code = (blocks.get(name) ?? expect.fail(name)).replaceAll("npx --yes pnpm@12.4.2", "pnpm");
  const { stdout } = await run("sh", ["-euc", code], { cwd, env: { ...env, TARBALLS: join(work, "tarballs") } });
  return stdout;
}

const path = [dirname(process.execPath), process.env.PATH].join(delimiter);

/** The registry and npm's cache are this run's own. */
const inProject = (name: string): Promise<string> =>
  typed(name, project, { PATH: path, HOME: work, npm_config_registry: registry.url, npm_config_audit: "false" });

test("verifier and client are installed from tarballs with all that they need, and can be imported", async () => {
  await inProject("verifier");
  await inProject("client");
  writeFileSync(join(project, "check.mjs"), blocks.get("check.mjs") ?? "");
  const { stdout } = await run(process.execPath, ["check.mjs"], { cwd: project });
  expect(stdout).toBe("function function\n");
});

test("the lock file has a checksum for each tarball, and no package of ours from a registry", () => {
  const lock = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8"));
  const ours = Object.entries<{ resolved: string; integrity: string }>(lock.packages).filter(([name]) =>
    name.startsWith("node_modules/@svc/"),
  );
  expect(ours.length).toBeGreaterThan(4);
  for (const [name, { resolved, integrity }] of ours) {
    expect(resolved, name).toMatch(/^file:.*\.tgz$/);
    expect(integrity, name).toMatch(/^sha512-/);
  }
});

test("a package that was forgotten is not installed from elsewhere", async () => {
  const forgotten = run("npm", ["install", "@svc/seals"], {
    cwd: project,
    env: { PATH: path, HOME: work },
  });
  await expect(forgotten).rejects.toThrow(/registry\.invalid/);
});

test("the svc command runs from the project, and is not installed on demand", async () => {
  expect(await inProject("command")).toMatch(new RegExp(`^${manifestOf(join(workspace, "apps/cli")).version}$`, "m"));
});
