import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const snapshotShape = z.strictObject({
  sessionId: z.string(),
  /** `expiresAt` in milliseconds since the epoch. */
  tokens: z.array(z.strictObject({ token: z.string(), expiresAt: z.number() })),
});

/** The reserved tokens of a pool, which survive a restart. */
export type PoolSnapshot = z.output<typeof snapshotShape>;

/** Stores pools. Keys are base64url SHA-256 of the presented token; one process uses a key at a time. */
export interface PoolStore {
  /** Undefined for a key that was never saved, or was removed. */
  load(key: string): Promise<PoolSnapshot | undefined>;
  /** Replaces the whole snapshot or nothing; durable when it resolves. */
  save(key: string, snapshot: PoolSnapshot): Promise<void>;
  /** Resolves also for an unknown key. */
  remove(key: string): Promise<void>;
}

/** The longest session (docs/reference/conventions.md#limits). */
const longestSessionMs = 86_400_000;

const snapshotName = /^[\w-]+\.json$/;

/**
 * Stores snapshots as files of mode 0600 in `directory`, created with mode 0700; meant for a folder in memory that
 * outlives the process and not the pod. Unfinished and expired files of earlier processes are removed first.
 * @throws the file system's error where the folder cannot be used
 */
export async function filePoolStore(directory: string, now: () => number = Date.now): Promise<PoolStore> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await sweep(directory, now());
  const fileOf = (key: string) => join(directory, `${key}.json`);
  return {
    load: (key) => read(fileOf(key)),
    save: async (key, snapshot) => {
      const written = join(directory, `${key}.${randomUUID()}.tmp`);
      try {
        await writeFile(written, JSON.stringify(snapshot), { flag: "wx", mode: 0o600, flush: true });
        await rename(written, fileOf(key));
      } catch (error) {
        // In a full folder the unfinished file would take the space that the next save needs.
        await unlink(written).catch(() => undefined);
        throw error;
      }
      await syncFolder(directory);
    },
    remove: (key) => unlink(fileOf(key)).catch(ignoreAbsence),
  };
}

async function sweep(directory: string, nowMs: number): Promise<void> {
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    const isLeftover = name.endsWith(".tmp") || (snapshotName.test(name) && (await isExpired(path, nowMs)));
    if (isLeftover) await unlink(path).catch(ignoreAbsence);
  }
}

/** A snapshot without tokens records that the presented token was spent, and is kept as long as that could live. */
async function isExpired(path: string, nowMs: number): Promise<boolean> {
  const { mtimeMs } = await stat(path);
  if (nowMs - mtimeMs > longestSessionMs) return true;
  const snapshot = await read(path).catch(() => undefined);
  return snapshot !== undefined && snapshot.tokens.length > 0 && snapshot.tokens.every((t) => t.expiresAt <= nowMs);
}

/** An unreadable file is an error, not an absence: its token may have been spent. */
async function read(path: string): Promise<PoolSnapshot | undefined> {
  const text = await readFile(path, "utf8").catch(ignoreAbsence);
  return text === undefined ? undefined : snapshotShape.parse(JSON.parse(text));
}

async function syncFolder(directory: string): Promise<void> {
  const folder = await open(directory, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function ignoreAbsence(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}
