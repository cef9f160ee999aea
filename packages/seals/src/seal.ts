import {
  type CompactJws,
  decodeObject,
  encodeBase64url,
  type PublicJwk,
  type SigningKey,
  sha256Base64url,
  splitCompactJws,
} from "@svc/tokens";
import { z } from "zod";
import { countsOf, type Entry, encodeEntries } from "./entries.ts";
import { merkleRoot } from "./merkle.ts";
import { currentFormat, perSource, type Source } from "./sources.ts";

/** A `typ` of its own, so that no token is accepted as a seal and no seal as a token (RFC 8725 section 3.11). */
export const sealType = "record-seal+jws";

/** Rows of one source by their identifiers: those above `after` (null: from the first on) up to and with `through`. */
export interface Range {
  readonly after: string | null;
  readonly through: string;
}

/** What the issuer's key signs: exactly these rows were in these ranges, after the seal before. */
export interface Seal {
  /** From 1 on, without gaps. */
  readonly batch: number;
  /** Of its leaves. */
  readonly format: number;
  /** base64url(SHA-256) of the statement before; null for the first. */
  readonly previous: string | null;
  readonly sealedAtMs: number;
  readonly ranges: Readonly<Record<Source, Range>>;
  readonly counts: Readonly<Record<Source, number>>;
  /** base64url; RFC 6962 over the leaves, source by source in the order of `sources`, each in that of its identifiers. */
  readonly root: string;
  /** base64url(SHA-256) of the list of identifiers and leaves kept beside. */
  readonly entriesHash: string;
  /** Of the signing key, in the first seal that it signs: later seals authenticate it when it is no longer published. */
  readonly publicJwk: PublicJwk | null;
}

const uuid = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const hash = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
const cover = z.strictObject({ after: uuid.nullable(), through: uuid, rows: z.int().min(0) });
const jwk = z.union([
  z.strictObject({ kty: z.literal("EC"), crv: z.literal("P-256"), x: z.string(), y: z.string() }),
  z.strictObject({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: z.string() }),
]);
const payload = z.strictObject({
  batch: z.int().min(1),
  format: z.int().min(1),
  previous: hash.nullable(),
  sealed_at: z.iso.datetime(),
  covers: z.strictObject(perSource(() => cover)),
  root: hash,
  entries_hash: hash,
  jwk: jwk.optional(),
});

export interface Sealing extends Pick<Seal, "batch" | "sealedAtMs" | "ranges"> {
  readonly key: SigningKey;
  /** The statement before; null for the first. */
  readonly previous: string | null;
  /** In the order of the tree. */
  readonly entries: readonly Entry[];
  /** Whether the statement before was signed by another key. */
  readonly isNewKey: boolean;
}

export interface Sealed {
  readonly statement: string;
  readonly entries: Uint8Array;
}

/** Signs a batch: a compact JWS (RFC 7515 section 7.1) and the list that it commits to. */
export async function signSeal({ key, entries, ranges, previous, ...sealing }: Sealing): Promise<Sealed> {
  const list = encodeEntries(entries);
  const counts = countsOf(entries);
  const claims: z.infer<typeof payload> = {
    batch: sealing.batch,
    format: currentFormat,
    previous: previous === null ? null : sealHash(previous),
    sealed_at: new Date(sealing.sealedAtMs).toISOString(),
    covers: perSource((source) => ({ ...ranges[source], rows: counts[source] })),
    root: encodeBase64url(merkleRoot(entries.map(({ leaf }) => leaf))),
    entries_hash: sha256Base64url(list),
    ...(sealing.isNewKey && { jwk: { ...key.publicJwk } }),
  };
  const statement = await key.sign({ alg: key.alg, typ: sealType, kid: key.kid }, JSON.stringify(claims));
  return { statement, entries: list };
}

/** Names a statement: in the next one, and in copies kept elsewhere. */
export const sealHash = (statement: string): string => sha256Base64url(statement);

export interface ReadSeal {
  readonly seal: Seal;
  readonly header: Pick<CompactJws, "alg" | "kid">;
}

/** The unverified content of a statement; undefined where it is not a seal. */
export function readSeal(statement: string): ReadSeal | undefined {
  const jws = splitCompactJws(statement);
  if (jws === undefined || jws.typ !== sealType) return undefined;
  const claims = payload.safeParse(decodeObject(jws.payloadSegment)).data;
  return claims && { seal: toSeal(claims), header: jws };
}

const toSeal = (claims: z.infer<typeof payload>): Seal => ({
  batch: claims.batch,
  format: claims.format,
  previous: claims.previous,
  sealedAtMs: Date.parse(claims.sealed_at),
  ranges: perSource((source) => ({ after: claims.covers[source].after, through: claims.covers[source].through })),
  counts: perSource((source) => claims.covers[source].rows),
  root: claims.root,
  entriesHash: claims.entries_hash,
  publicJwk: claims.jwk ?? null,
});
