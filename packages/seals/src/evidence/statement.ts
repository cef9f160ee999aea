import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import type { Range, Seal } from "../seal.ts";
import { perSource, sources } from "../sources.ts";
import { member, parsedObject } from "./render.ts";

/** What a seal says, unverified, and what it needs to be verified. */
export interface Statement
  extends Pick<Seal, "batch" | "format" | "previous" | "ranges" | "counts" | "root" | "entriesHash"> {
  readonly kid: string;
  readonly sealedAt: string;
  readonly signed: string;
  readonly signature: string;
}

export type EvidenceJwk = Readonly<Record<string, unknown>>;

export const hashText = (data: Uint8Array | string): string => createHash("sha256").update(data).digest("base64url");

/** Reads a compact JWS of `typ` record-seal+jws (docs/reference/record.md#seals); undefined where it is none. */
export function readStatement(text: string): Statement | undefined {
  const [head = "", body = "", signature = "", ...more] = text.split(".");
  const header = parsedObject(decodedText(head));
  const claims = parsedObject(decodedText(body));
  const covers = member(claims, "covers");
  if (header?.typ !== "record-seal+jws" || more.length > 0 || claims === undefined) return undefined;
  if (!sources.every((source) => isRange(member(covers, source)))) return undefined;
  const { batch, format, previous, root, entries_hash: entriesHash, sealed_at: sealedAt } = claims;
  if (typeof batch !== "number" || typeof format !== "number" || typeof sealedAt !== "string") return undefined;
  if (typeof root !== "string" || typeof entriesHash !== "string" || typeof header.kid !== "string") return undefined;
  const rangeOf = (source: string) => member(covers, source) as unknown as Range & { readonly rows: number };
  return {
    batch,
    format,
    previous: typeof previous === "string" ? previous : null,
    root,
    entriesHash,
    sealedAt,
    ranges: perSource((source) => rangeOf(source)),
    counts: perSource((source) => rangeOf(source).rows),
    kid: header.kid,
    signed: `${head}.${body}`,
    signature,
  };
}

const isRange = (range: Readonly<Record<string, unknown>> | undefined): boolean =>
  typeof range?.through === "string" &&
  Number.isInteger(range.rows) &&
  (range.after === null || typeof range.after === "string");

const decodedText = (segment: string): string => Buffer.from(segment, "base64url").toString("utf8");

export interface EvidenceKey {
  readonly kid: string;
  readonly algorithm: "ES256" | "Ed25519";
  readonly key: KeyObject;
}

/** An ES256 or Ed25519 key by its RFC 7638 thumbprint; undefined for any other. */
export function readKey(jwk: EvidenceJwk): EvidenceKey | undefined {
  const { kty, crv, x, y } = jwk;
  const isEc = kty === "EC" && crv === "P-256";
  if (!isEc && !(kty === "OKP" && crv === "Ed25519")) return undefined;
  const members = isEc ? { crv, kty, x, y } : { crv, kty, x };
  try {
    const key = createPublicKey({ key: members as { kty: string }, format: "jwk" });
    return { kid: hashText(JSON.stringify(members)), algorithm: isEc ? "ES256" : "Ed25519", key };
  } catch {
    return undefined;
  }
}

/** Whether the key made the statement's signature: its algorithm is the key's (RFC 8725 section 3.1). */
export function isSignedBy({ signed, signature }: Statement, { algorithm, key }: EvidenceKey): boolean {
  const bytes = Buffer.from(signature, "base64url");
  const hash = algorithm === "ES256" ? "sha256" : null;
  return verify(hash, Buffer.from(signed), algorithm === "ES256" ? { key, dsaEncoding: "ieee-p1363" } : key, bytes);
}
