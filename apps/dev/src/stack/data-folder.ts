import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export interface DataFolder {
  readonly path: string;
  /** Removes a folder that was made for this run. */
  release(): Promise<void>;
}

/** The given folder, which is kept; by default a new one that is removed at the end. */
export async function dataFolder(given: string | undefined): Promise<DataFolder> {
  if (given !== undefined) {
    const path = resolve(given);
    await mkdir(path, { recursive: true, mode: passThrough });
    return { path, release: async () => {} };
  }
  const path = await mkdtemp(join(tmpdir(), "svc-dev-"));
  await chmod(path, passThrough);
  return { path, release: () => rm(path, { recursive: true, force: true }) };
}

/** As root the database server runs as another account, which must be able to reach the folder; secrets in it have mode 0600. */
const passThrough = 0o711;
