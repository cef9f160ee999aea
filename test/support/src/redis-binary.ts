import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { installDebianPackage } from "./debian-package.ts";

const names = ["redis-server", "valkey-server"];

/** The path of a server program, installed first where that is possible. */
export function redisBinary(): string {
  const found = onPath() ?? (installDebianPackage("redis-server") ? onPath() : undefined);
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
