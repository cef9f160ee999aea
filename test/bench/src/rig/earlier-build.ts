import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { progress } from "../progress.ts";

/** The last commit of the first release, which decides and exchanges in two requests. */
export const firstReleaseCommit = "049e92f462d59320fa9e5b3171a8ee4e90e3f8d9";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
/** Outside of this checkout: its tests and sources are not ours, and it cannot be compiled below `node_modules`. */
const caches = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");

/** The files of a commit of this repository, built once; where that cannot be done, why. */
export function buildAt(commit: string): { readonly checkout: string } | { readonly why: string } {
  try {
    const whole = execFileSync("git", ["rev-parse", "--verify", `${commit}^{commit}`], { cwd: root, encoding: "utf8" });
    const folder = join(caches, "agent-authorization-service", whole.trim());
    if (!existsSync(join(folder, built))) build(whole.trim(), folder);
    return { checkout: folder };
  } catch (cause) {
    return { why: `${commit.slice(0, 7)} could not be built (${cause instanceof Error ? cause.message : cause})` };
  }
}

const built = "built";

function build(commit: string, folder: string): void {
  progress(`${commit.slice(0, 7)} is built`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const options = { cwd: folder, env: { ...process.env, CI: "true" }, maxBuffer: 1 << 30 };
  const files = execFileSync("git", ["archive", commit], { ...options, cwd: root });
  execFileSync("tar", ["-x"], { ...options, input: files });
  execFileSync("npx", ["--yes", "pnpm@12.4.2", "install", "--frozen-lockfile", "--prefer-offline"], options);
  execFileSync(join(folder, "node_modules/.bin/tsc"), ["-b", "apps/control-plane", "apps/pep"], options);
  writeFileSync(join(folder, built), "");
}
