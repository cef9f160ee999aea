import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export interface DataFolder {
  readonly path: string;
  /** Removes it, if it was made for this run alone. */
  release(): Promise<void>;
}

/** The folder asked for, which stays; else a fresh one that ends with the run, so that each starts with nothing. */
export async function dataFolder(asked: string | undefined): Promise<DataFolder> {
  if (asked !== undefined) {
    const path = resolve(asked);
    await mkdir(path, { recursive: true, mode: passThrough });
    return { path, release: async () => {} };
  }
  const path = await mkdtemp(join(tmpdir(), "svc-dev-"));
  await chmod(path, passThrough);
  return { path, release: () => rm(path, { recursive: true, force: true }) };
}

/** As root the database server runs as another account; what is secret in the folder is readable by us alone. */
const passThrough = 0o711;
