import { type SpawnSyncReturns, spawnSync } from "node:child_process";

/** The prefix of a command that needs root: empty for root, undefined where this account cannot become root. */
export function asRoot(): readonly string[] | undefined {
  if (process.getuid?.() === 0) return [];
  return spawnSync("sudo", ["-n", "true"], { stdio: "ignore" }).status === 0 ? ["sudo", "-n"] : undefined;
}

// Test processes may install in parallel: the lock queues them. Without a network the wait is bounded.
const options = ["DPkg::Lock::Timeout=300", "Acquire::Retries=1", "Acquire::http::Timeout=30"];
// In single-user mode Debian starts no service of an installed package.
const environment = ["DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"];

/** Installs packages of the machine's distribution. Returns undefined when done, else the reason. */
export function installDebianPackages(names: readonly string[]): string | undefined {
  const before = asRoot();
  if (before === undefined) return "this account is not root and has no sudo without a password";
  const apt = (...args: readonly string[]) => {
    const [file = "", ...rest] = [...before, "env", ...environment, "apt-get"];
    return spawnSync(file, [...rest, ...options.flatMap((option) => ["-o", option]), ...args], { encoding: "utf8" });
  };
  const install = (packages: readonly string[]) => apt("install", "-y", "--no-install-recommends", ...packages);
  // A failure shows at the installation: outdated lists may still have these packages.
  apt("update");
  const together = install(names);
  if (together.status === 0) return undefined;
  // Installed one by one, since together one missing package would fail them all.
  const alone = names.length > 1 ? names.map((name) => install([name])) : [together];
  const failed = alone.find(({ status }) => status !== 0);
  return failed && reasonOf(failed);
}

const reasonOf = ({ error, stderr, status }: SpawnSyncReturns<string>): string =>
  error?.message ?? (stderr.trim().split("\n").at(-1) || `apt-get exited with ${status}`);
