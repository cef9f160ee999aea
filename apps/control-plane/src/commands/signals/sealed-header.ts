import { CompactEncrypt, compactDecrypt } from "jose";

/** A receiver's `Authorization`, sealed (RFC 7516) under a key of the processes. */
export const sealHeader = (value: string, key: Uint8Array): Promise<string> =>
  new CompactEncrypt(new TextEncoder().encode(value)).setProtectedHeader({ alg: "dir", enc: "A256GCM" }).encrypt(key);

/** @throws where the key is another one */
export async function openHeader(sealed: string, key: Uint8Array): Promise<string> {
  const { plaintext } = await compactDecrypt(sealed, key, {
    keyManagementAlgorithms: ["dir"],
    contentEncryptionAlgorithms: ["A256GCM"],
  });
  return new TextDecoder().decode(plaintext);
}
