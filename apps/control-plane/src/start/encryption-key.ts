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
  const key = (await readFile(file).catch(unless("ENOENT"))) ?? (await makeOnce(file));
  if (key.byteLength === keyBytes) return key;
  throw new Error(
    `${file} holds no key of ${keyBytes} bytes: put the file back; without it the database of that folder is of no use, so start with another SVC_DATA_DIR`,
  );
}

/** Links the complete file into place, so that processes that start together use one key. */
async function makeOnce(file: string): Promise<Uint8Array> {
  const partial = `${file}.${randomUUID()}`;
  await writeFile(partial, randomBytes(keyBytes), { flag: "wx", mode: 0o600 });
  await link(partial, file)
    .catch(unless("EEXIST"))
    .finally(() => unlink(partial));
  return readFile(file);
}

/** Takes a fault with this code for no result. */
const unless = (code: string) => (error: NodeJS.ErrnoException) => {
  if (error.code !== code) throw error;
  return undefined;
};

interface AuthenticitySecrets {
  readonly keyEncryptionKey: Uint8Array | undefined;
  readonly issuerPrivateKey: string | undefined;
}

/** Derived from what every process of the deployment has: `encryptionKey` may be made up where an issuer key is set. */
export const authenticityKey = (
  { keyEncryptionKey, issuerPrivateKey }: AuthenticitySecrets,
  encryptionKey: Uint8Array,
): Uint8Array => derivedKey(keyEncryptionKey ?? issuerPrivateKey ?? encryptionKey, "svc stored authority");

/** For one use; the same in every process. */
export const derivedKey = (secret: Uint8Array | string, use: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", secret, new Uint8Array(), use, 32));
