import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { KilledBy } from "./mutation.ts";
import { type Report, readReport, runnerPattern } from "./report.ts";

const execute = promisify(execFile);

/** A clone of the last commit, in which a control can be removed. */
export interface Scratch {
  /** Runs the named tests of a file with one text of one file replaced, or unchanged. The file is always restored. */
  run(
    tests: KilledBy,
    change?: { readonly file: string; readonly text: string; readonly replacement: string },
  ): Promise<Report>;
  remove(): void;
}

/** A run that takes longer hangs, which a removed control may cause. */
const longestRunMs = 600_000;
/** Without a control many tests of a file may wait in vain, one after the other. */
const patienceMs = 30_000;

/** @throws where the package manager's store lacks a package of the commit */
export async function openScratch(repository: string): Promise<Scratch> {
  const root = mkdtempSync(join(tmpdir(), "svc-mutations-"));
  const remove = () => {
    process.removeListener("exit", remove);
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once("exit", remove);
  try {
    await execute("git", ["clone", "--quiet", "--shared", repository, root]);
    const options = { cwd: root, env: { ...process.env, CI: "true" }, maxBuffer: 64 * 1024 * 1024 };
    await execute("pnpm", ["install", "--offline", "--frozen-lockfile"], options);
  } catch (error) {
    remove();
    throw error;
  }
  return {
    async run(tests, change) {
      if (change === undefined) return runTests(root, tests);
      const file = join(root, change.file);
      const before = readFileSync(file, "utf8");
      writeFileSync(file, replaceOnce(before, change.text, change.replacement));
      try {
        return await runTests(root, tests);
      } finally {
        writeFileSync(file, before);
      }
    },
    remove,
  };
}

/** @throws {Error} unless the text occurs exactly once */
export function replaceOnce(source: string, text: string, replacement: string): string {
  const parts = source.split(text);
  if (parts.length !== 2) throw new Error(`occurs ${parts.length - 1} times, not once: ${text}`);
  return parts.join(replacement);
}

/** The project of a test file is named after the second folder of its path. */
const projectOf = (testFile: string): string => testFile.split("/")[1] ?? "";

async function runTests(root: string, { file, name }: KilledBy): Promise<Report> {
  // `vitest.config.ts` names it, and its name has precedence over the command line's.
  const output = join(root, "node_modules/.cache/vitest-all.json");
  rmSync(output, { force: true });
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const args = ["run", "--mode", "all", "--project", projectOf(file), file, "--testNamePattern", runnerPattern(name)];
  // Other work on this machine has priority.
  await execute("nice", ["-n", "10", process.execPath, vitest, ...args], {
    cwd: root,
    env: { ...process.env, TEST_PATIENCE_MS: String(patienceMs) },
    timeout: longestRunMs,
    maxBuffer: 64 * 1024 * 1024,
  }).catch(() => undefined);
  return readReport(output);
}
