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
const folder = join(caches, "agent-authorization-service", firstReleaseCommit);
const built = join(folder, "built");

/** Its files, built once; where that cannot be done, why. */
export function buildFirstRelease(): { readonly checkout: string } | { readonly why: string } {
  try {
    if (!existsSync(built)) build();
    return { checkout: folder };
  } catch (cause) {
    return {
      why: `${firstReleaseCommit.slice(0, 7)} could not be built (${cause instanceof Error ? cause.message : cause})`,
    };
  }
}

function build(): void {
  progress("the first release is built");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const options = { cwd: folder, env: { ...process.env, CI: "true" }, maxBuffer: 1 << 30 };
  const files = execFileSync("git", ["archive", firstReleaseCommit], { ...options, cwd: root });
  execFileSync("tar", ["-x"], { ...options, input: files });
  execFileSync("npx", ["--yes", "pnpm@12.4.2", "install", "--frozen-lockfile", "--prefer-offline"], options);
  execFileSync(join(folder, "node_modules/.bin/tsc"), ["-b", "apps/control-plane", "apps/pep"], options);
  writeFileSync(built, "");
}
