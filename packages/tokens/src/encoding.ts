import { runtime } from "#runtime";

/** base64url without padding (RFC 4648 section 5). */
export const encodeBase64url = (data: Uint8Array | string): string => runtime.toBase64url(data);

/** The bytes of the one canonical base64url spelling; undefined for padding, stray bits or characters. */
export function decodeBase64url(text: string): Uint8Array | undefined {
  const bytes = runtime.fromBase64url(text);
  return runtime.toBase64url(bytes) === text ? bytes : undefined;
}

/** base64url(SHA-256(data)), of the UTF-8 bytes where it is text: how one token names another (`sth`, `ath`, `hop_jti_hash`). */
export const sha256Base64url = (data: Uint8Array | string): string => runtime.sha256Base64url(data);
