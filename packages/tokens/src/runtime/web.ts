import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { base64url, CompactSign, compactVerify, errors, importJWK } from "jose";
import { algorithmsOf, type PrivateJwk, type PublicJwk } from "../jwk.ts";
import type { CheckJws, Runtime, SignJws } from "./port.ts";

const utf8 = new TextEncoder();
const toBytes = (data: Uint8Array | string): Uint8Array => (typeof data === "string" ? utf8.encode(data) : data);

async function signer(jwk: PrivateJwk): Promise<SignJws> {
  const key = await importJWK({ ...jwk }, algorithmsOf(jwk)[0]);
  return (header, payload) => new CompactSign(utf8.encode(payload)).setProtectedHeader({ ...header }).sign(key);
}

async function checker(jwk: PublicJwk): Promise<CheckJws> {
  const algorithms = [...algorithmsOf(jwk)];
  const key = await importJWK({ ...jwk }, algorithms[0]);
  return (token) => isVerified(compactVerify(token, key, { algorithms }));
}

function mac(secret: Uint8Array): ReturnType<Runtime["mac"]> {
  return {
    sign: (header, payload) => new CompactSign(utf8.encode(payload)).setProtectedHeader({ ...header }).sign(secret),
    check: (token) => isVerified(compactVerify(token, secret, { algorithms: ["HS256"] })),
  };
}

async function isVerified(verification: Promise<unknown>): Promise<boolean> {
  try {
    await verification;
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError) return false;
    throw error;
  }
}

function fromBase64url(text: string): Uint8Array {
  try {
    return base64url.decode(text);
  } catch {
    return new Uint8Array();
  }
}

export const runtime: Runtime = {
  // WebCrypto hashes only asynchronously; a synchronous hash keeps binding and cache keys synchronous everywhere.
  sha256Base64url: (data) => base64url.encode(sha256(toBytes(data))),
  toBase64url: (data) => base64url.encode(data),
  fromBase64url,
  signer,
  checker,
  derive: (secret, purpose) => hkdf(sha256, secret, undefined, utf8.encode(purpose), 32),
  mac,
};
