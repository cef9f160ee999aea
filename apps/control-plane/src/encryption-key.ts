import { hkdfSync, randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * The key that seals signing keys in the database. Development may do without the setting: one is made and kept beside
 * the embedded database, readable by its owner alone.
 */
export async function encryptionKeyOf(configured: Uint8Array | undefined, dataDir: string): Promise<Uint8Array> {
  if (configured !== undefined) return configured;
  await mkdir(dataDir, { recursive: true });
  const file = join(dataDir, "key-encryption-key");
  try {
    // Exclusive: of two processes that start together, one makes the key and the other reads it.
    await writeFile(file, randomBytes(32), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFile(file);
}

/** A key of its own for signing cursors, the same in every process, out of the one that is configured. */
export const cursorKeyOf = (secret: Uint8Array | string): Uint8Array => derived(secret, "svc page cursor");

/** The same for the console's sign-ins. */
export const consoleKeyOf = (secret: Uint8Array | string): Uint8Array => derived(secret, "svc console sign-in");

const derived = (secret: Uint8Array | string, use: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", secret, new Uint8Array(), use, 32));
