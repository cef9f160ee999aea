import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const names = ["redis-server", "valkey-server"];

/** The path of a server program, installed first where that is possible. */
export function redisBinary(): string {
  const found = onPath() ?? (install() ? onPath() : undefined);
  if (found === undefined) {
    throw new Error("these tests need a Redis server: install redis-server or valkey-server, or set REDIS_URL");
  }
  return found;
}

function onPath(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function install(): boolean {
  if (process.getuid?.() !== 0) return false;
  try {
    const options = { stdio: "ignore" as const, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
    // Several test processes may come here at once: the package manager's own lock puts them in a row.
    execFileSync("apt-get", ["-o", "DPkg::Lock::Timeout=300", "update"], options);
    const packages = ["install", "-y", "--no-install-recommends", "redis-server"];
    execFileSync("apt-get", ["-o", "DPkg::Lock::Timeout=300", ...packages], options);
    return true;
  } catch {
    return false;
  }
}
