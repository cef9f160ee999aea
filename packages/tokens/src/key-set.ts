import { calculateJwkThumbprint, exportJWK, generateKeyPair, importPKCS8 } from "jose";
import { z } from "zod/mini";
import { runtime } from "#runtime";
import { decodeBase64url } from "./encoding.ts";
import { algorithmsOf, type PrivateJwk, type PublicJwk, toPublicJwk } from "./jwk.ts";
import { type KeyRefusal, KeyRefused, readPrivateJwk, readPublicJwk } from "./read-jwk.ts";
import type { CheckJws, SignJws } from "./runtime/port.ts";

/** Checks tokens; its algorithm is part of it, so that no token can choose one. */
export interface CheckingKey {
  /** RFC 7638 thumbprint, or the name its key set gave it. */
  readonly kid: string;
  readonly algs: readonly string[];
  readonly check: CheckJws;
}

/** Checks signatures. */
export interface VerificationKey extends CheckingKey {
  readonly publicJwk: PublicJwk;
}

/** Makes and checks what only its owner reads, by HMAC-SHA256. */
export interface MacKey extends CheckingKey {
  readonly alg: "HS256";
  readonly sign: SignJws;
}

/** Signs; the private key is not a member and cannot be logged. */
export interface SigningKey {
  /** RFC 7638 thumbprint of the public half. */
  readonly kid: string;
  readonly alg: string;
  readonly publicJwk: PublicJwk;
  readonly sign: SignJws;
}

/** Signs the issuer's tokens. What it derives for siblings dies with it, and is never looked up among public keys. */
export interface IssuerKey extends SigningKey {
  readonly siblings: MacKey;
}

/** Where verification finds a key: a Map's own lookup, so that a `kid` can reach nothing but what was put there. */
export interface KeyLookup {
  get(kid: string): VerificationKey | undefined;
}

/** A fresh ES256 key pair. */
export async function generatePrivateJwk(): Promise<PrivateJwk> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return readPrivateJwk(await exportJWK(privateKey));
}

/** RFC 7638, SHA-256: the same for every spelling of one public key. */
export const thumbprint = (jwk: PublicJwk): Promise<string> => calculateJwkThumbprint({ ...jwk }, "sha256");

/** The issuer's key out of a JWK, its JSON text or a PKCS#8 PEM. ES256 only. @throws {KeyRefused} where it is none. */
export async function importIssuerKey(material: string | PrivateJwk): Promise<IssuerKey> {
  const jwk = await readPrivate(material);
  const key = await toSigningKey(jwk);
  if (key.alg !== "ES256") throw new KeyRefused("unsupported");
  return { ...key, siblings: siblingKey(key.kid, jwk) };
}

/** An agent's key, ES256 or Ed25519, out of the same. @throws {KeyRefused} where it is none. */
export const importAgentKey = async (material: string | PrivateJwk): Promise<SigningKey> =>
  toSigningKey(await readPrivate(material));

/** Derived from the private half: without the key that signs hop tokens, no sibling can be made. */
function siblingKey(kid: string, { d }: PrivateJwk): MacKey {
  const secret = runtime.derive(decodeBase64url(d) as Uint8Array, `svc sibling ${kid}`);
  return { kid, alg: "HS256", algs: ["HS256"], ...runtime.mac(secret) };
}

const readPrivate = async (material: string | PrivateJwk): Promise<PrivateJwk> =>
  typeof material === "string" ? readPrivateText(material.trim()) : readPrivateJwk(material);

async function toSigningKey(jwk: PrivateJwk): Promise<SigningKey> {
  const publicJwk = toPublicJwk(jwk);
  const kid = await thumbprint(publicJwk);
  const [alg] = algorithmsOf(jwk);
  try {
    return { kid, alg, publicJwk, sign: await runtime.signer(jwk) };
  } catch {
    // Without its cause: the platform's message may quote the material.
    throw new KeyRefused("malformed");
  }
}

async function readPrivateText(text: string): Promise<PrivateJwk> {
  if (text.startsWith("-----BEGIN")) return readPkcs8(text);
  let jwk: unknown;
  try {
    jwk = JSON.parse(text);
  } catch {
    throw new KeyRefused("malformed");
  }
  return readPrivateJwk(jwk);
}

async function readPkcs8(pem: string): Promise<PrivateJwk> {
  for (const alg of ["ES256", "EdDSA"]) {
    try {
      return readPrivateJwk(await exportJWK(await importPKCS8(pem, alg, { extractable: true })));
    } catch {
      // Not this algorithm's key, or none at all.
    }
  }
  throw new KeyRefused("unsupported");
}

export type PublicKeyReading =
  | { readonly ok: true; readonly key: VerificationKey }
  | { readonly ok: false; readonly cause: KeyRefusal };

/** Reads a presented public key (of an enrolling agent). A private, symmetric, RSA or malformed one is refused. */
export async function readPublicKey(value: unknown): Promise<PublicKeyReading> {
  const jwk = readPublicJwk(value);
  if (typeof jwk === "string") return { ok: false, cause: jwk };
  try {
    return { ok: true, key: await toVerificationKey(jwk) };
  } catch {
    return { ok: false, cause: "malformed" };
  }
}

async function toVerificationKey(publicJwk: PublicJwk, kid?: string): Promise<VerificationKey> {
  const check = await runtime.checker(publicJwk);
  return { kid: kid ?? (await thumbprint(publicJwk)), algs: algorithmsOf(publicJwk), publicJwk, check };
}

/** What verifies the tokens of a signing key of ours. */
export const verificationKeyOf = ({ publicJwk, kid }: SigningKey): Promise<VerificationKey> =>
  toVerificationKey(publicJwk, kid);

/** A JWKS document (RFC 7517 section 5), as published at `/.well-known/jwks.json`. */
export interface JwksDocument {
  readonly keys: readonly (PublicJwk & { readonly kid: string; readonly alg: string; readonly use: "sig" })[];
}

export function toJwks(keys: Iterable<Pick<VerificationKey, "kid" | "publicJwk">>): JwksDocument {
  return {
    keys: Array.from(keys, ({ kid, publicJwk }) => ({
      ...publicJwk,
      kid,
      alg: algorithmsOf(publicJwk)[0],
      use: "sig" as const,
    })),
  };
}

const jwks = z.object({ keys: z.array(z.unknown()).check(z.maxLength(256)) });
const named = z.object({ kid: z.string().check(z.minLength(1), z.maxLength(255)) });

/**
 * The keys of a JWKS document by `kid` (the thumbprint where an entry names none). Keys of other kinds are skipped, as
 * RFC 7517 section 5 requires; a `kid` claimed twice belongs to neither.
 * @throws {KeyRefused} where it is no JWKS document.
 */
export async function importJwks(document: unknown): Promise<ReadonlyMap<string, VerificationKey>> {
  const entries = jwks.safeParse(document).data?.keys;
  if (entries === undefined) throw new KeyRefused("malformed");
  const keys = new Map<string, VerificationKey>();
  const contested = new Set<string>();
  for (const entry of entries) {
    const reading = await readPublicKey(entry);
    if (!reading.ok) continue;
    const kid = named.safeParse(entry).data?.kid ?? reading.key.kid;
    if (keys.has(kid)) contested.add(kid);
    keys.set(kid, { ...reading.key, kid });
  }
  for (const kid of contested) keys.delete(kid);
  return keys;
}
