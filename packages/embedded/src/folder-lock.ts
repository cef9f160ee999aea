import { DatabaseSync } from "node:sqlite";

/** Thrown where another living process uses the data folder. */
export class DataFolderInUse extends Error {
  readonly code = "data_folder_in_use";
  constructor(dataDir: string) {
    super(`another process uses the data folder ${dataDir}; stop it, or choose another folder with SVC_DATA_DIR`);
    this.name = "DataFolderInUse";
  }
}

export interface FolderLock {
  release(): void;
}

/**
 * Holds `<dataDir>/lock` for this process. SQLite locks the file through the kernel, which lets go when the
 * process ends however it ends, so there is never a stale lock to judge.
 * Throws `DataFolderInUse`.
 */
export function lockFolder(dataDir: string): FolderLock {
  const lock = new DatabaseSync(`${dataDir}/lock`);
  try {
    lock.exec("begin exclusive");
  } catch (cause) {
    lock.close();
    if (isBusy(cause)) throw new DataFolderInUse(dataDir);
    throw cause;
  }
  return { release: () => lock.close() };
}

const sqliteBusy = 5;
const isBusy = (cause: unknown): boolean =>
  cause instanceof Error && "errcode" in cause && cause.errcode === sqliteBusy;
