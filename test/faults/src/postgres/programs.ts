import { accessSync, constants, readdirSync } from "node:fs";
import { join } from "node:path";
import { installDebianPackage } from "@svc/test-support";

/** Where Debian keeps its releases. The embedded server brings no `pg_basebackup`, so there are no standbys of it. */
const releases = "/usr/lib/postgresql";

/** The folder of a PostgreSQL with all its programs, the newest there is, installed first where that is possible. */
export function postgresPrograms(): string {
  const found = newest() ?? (installDebianPackage("postgresql") ? newest() : undefined);
  if (found === undefined) throw new Error(`these tests need a whole PostgreSQL under ${releases}: install postgresql`);
  return found;
}

function newest(): string | undefined {
  return versions()
    .sort((one, other) => Number(other) - Number(one))
    .map((version) => join(releases, version, "bin"))
    .find((folder) => ["postgres", "initdb", "pg_basebackup"].every((name) => isExecutable(join(folder, name))));
}

function versions(): string[] {
  try {
    return readdirSync(releases);
  } catch {
    return [];
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
