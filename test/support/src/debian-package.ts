import { execFileSync } from "node:child_process";

/** Installs a package of the machine's own distribution; false where that is not possible. */
export function installDebianPackage(name: string): boolean {
  if (process.getuid?.() !== 0) return false;
  try {
    const options = { stdio: "ignore" as const, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
    // Several test processes may come here at once: the package manager's own lock puts them in a row.
    execFileSync("apt-get", ["-o", "DPkg::Lock::Timeout=300", "update"], options);
    const packages = ["install", "-y", "--no-install-recommends", name];
    execFileSync("apt-get", ["-o", "DPkg::Lock::Timeout=300", ...packages], options);
    return true;
  } catch {
    return false;
  }
}
