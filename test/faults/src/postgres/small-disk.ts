import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type OwnPostgres, startOwnPostgres } from "./server.ts";

const run = promisify(execFile);

/** A server on its own file system, which can be filled to the last byte. */
export interface SmallDisk extends OwnPostgres {
  fill(): Promise<void>;
  makeRoom(): void;
}

/** Needs root, to mount it. */
export async function startOnSmallDisk(): Promise<SmallDisk> {
  const parent = mkdtempSync(join(tmpdir(), "svc-faults-disk-"));
  await run("mount", ["-t", "tmpfs", "-o", "size=192m", "tmpfs", parent]);
  const server = await startOwnPostgres({ parent, settings: ["min_wal_size = 32MB", "max_wal_size = 64MB"] });
  const filler = join(parent, "filler");
  return {
    ...server,
    fill: () => run("dd", ["if=/dev/zero", `of=${filler}`, "bs=64k"]).then(throwNoRoom, () => {}),
    makeRoom: () => writeFileSync(filler, ""),
    async remove() {
      await server.remove();
      await run("umount", [parent]);
      rmSync(parent, { recursive: true, force: true });
    },
  };
}

const throwNoRoom = (): never => {
  throw new Error("the file system did not fill up");
};
