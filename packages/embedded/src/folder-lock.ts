import { DatabaseSync } from "node:sqlite";

/** Another running process uses the data folder. */
export class DataFolderInUse extends Error {
  readonly code = "data_folder_in_use";
  constructor(dataDir: string) {
    super(`another process uses the data folder ${dataDir}; stop it, or choose another folder with SVC_DATA_DIR`);
    this.name = "DataFolderInUse";
  }
}

const sqliteBusy = 5;

/**
 * Holds `<dataDir>/lock` for this process. SQLite locks the file through the kernel, which unlocks it however the process
 * ends, so a lock is never stale.
 * @returns releases the lock
 * @throws DataFolderInUse
 */
export function lockFolder(dataDir: string): () => void {
  const lock = new DatabaseSync(`${dataDir}/lock`);
  try {
    lock.exec("begin exclusive");
  } catch (cause) {
    lock.close();
    throw (cause as { errcode?: number }).errcode === sqliteBusy ? new DataFolderInUse(dataDir) : cause;
  }
  return () => lock.close();
}
