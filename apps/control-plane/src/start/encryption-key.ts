import { hkdfSync, randomBytes, randomUUID } from "node:crypto";
import { link, mkdir, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** AES-256. */
const keyBytes = 32;

/**
 * The key that encrypts signing keys in the database. Without the setting, in development, one is made and kept beside
 * the embedded database.
 * @throws if the kept one is not whole.
 */
export async function encryptionKeyOf(configured: Uint8Array | undefined, dataDir: string): Promise<Uint8Array> {
  if (configured !== undefined) return configured;
  await mkdir(dataDir, { recursive: true });
  const file = join(dataDir, "key-encryption-key");
  const key = (await readIfThere(file)) ?? (await makeOnce(file));
  if (key.byteLength === keyBytes) return key;
  throw new Error(
    `${file} holds no key of ${keyBytes} bytes: put the file back; without it the database of that folder is of no use, so start with another SVC_DATA_DIR`,
  );
}

async function readIfThere(file: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    return undefined;
  }
}

/** Links the complete file into place, so that processes that start together use one key. */
async function makeOnce(file: string): Promise<Uint8Array> {
  const partial = `${file}.${randomUUID()}`;
  await writeFile(partial, randomBytes(keyBytes), { flag: "wx", mode: 0o600 });
  try {
    await link(partial, file);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    await unlink(partial);
  }
  return readFile(file);
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** For one use; the same in every process. */
export const derivedKey = (secret: Uint8Array | string, use: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", secret, new Uint8Array(), use, 32));
