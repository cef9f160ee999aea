import { CompactEncrypt, compactDecrypt } from "jose";
import { type PrivateJwk, toPublicJwk } from "./jwk.ts";
import { thumbprint } from "./key-set.ts";
import { KeyRefused, readPrivateJwk } from "./read-jwk.ts";

/** An encrypted JWK (RFC 7517 section 7): AES-256-GCM under the key itself, its header (and so the `kid`) authenticated. */
const header = { alg: "dir", enc: "A256GCM", cty: "jwk+json" } as const;

/** Seals a private key for storage under a 32-byte key. */
export async function sealPrivateJwk(jwk: PrivateJwk, encryptionKey: Uint8Array): Promise<string> {
  const kid = await thumbprint(toPublicJwk(jwk));
  return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(jwk)))
    .setProtectedHeader({ ...header, kid })
    .encrypt(encryptionKey);
}

/** Opens the key named `kid`. @throws {KeyRefused} `unsealable`: altered, another encryption key or another `kid`. */
export async function unsealPrivateJwk(sealed: string, kid: string, encryptionKey: Uint8Array): Promise<PrivateJwk> {
  try {
    const { plaintext, protectedHeader } = await compactDecrypt(sealed, encryptionKey, {
      keyManagementAlgorithms: [header.alg],
      contentEncryptionAlgorithms: [header.enc],
    });
    if (protectedHeader.kid === kid) return readPrivateJwk(JSON.parse(new TextDecoder().decode(plaintext)));
  } catch {
    // One error for every cause.
  }
  throw new KeyRefused("unsealable");
}
