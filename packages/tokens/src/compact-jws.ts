import { LRUCache } from "lru-cache";
import { z } from "zod/mini";
import { decodeBase64url } from "./encoding.ts";
import { parseExactObject } from "./strict-json.ts";

/** Longer than any token of ours; a longer one is refused before it is decoded. */
const maxTokenLength = 16_384;

/**
 * Nothing but these three members: a header with anything else (`crit`, `b64`) or offers a key (`jku`, `jwk`,
 * `x5u`, `x5c`) is not one of ours (RFC 8725 sections 3.1 and 3.10).
 */
const jwsHeader = z.strictObject({ alg: z.string(), typ: z.string(), kid: z.optional(z.string()) });

export interface CompactJws {
  readonly alg: string;
  readonly typ: string;
  readonly kid: string | undefined;
  /** The claims, not decoded yet. */
  readonly payloadSegment: string;
}

/** The unverified header of a compact JWS (RFC 7515 section 7.1), or undefined for anything else. */
export function splitCompactJws(token: string): CompactJws | undefined {
  if (token.length > maxTokenLength) return undefined;
  const segments = token.split(".", 4);
  const [headerSegment, payloadSegment, signature] = segments;
  if (segments.length !== 3 || !headerSegment || !payloadSegment || !signature) return undefined;
  if (decodeBase64url(signature) === undefined) return undefined;
  const header = readHeader(headerSegment);
  return header && { alg: header.alg, typ: header.typ, kid: header.kid, payloadSegment };
}

/** The `typ` of a compact JWS by its header alone, unverified. */
export function typeOf(token: string): string | undefined {
  const dot = token.indexOf(".");
  return dot > 0 && dot <= maxTokenLength ? readHeader(token.slice(0, dot))?.typ : undefined;
}

type JwsHeader = z.infer<typeof jwsHeader>;

/** All tokens of one kind and key have the same header, to the letter. */
const readHeaders = new LRUCache<string, JwsHeader>({ max: 64 });
const maxHeaderLength = 256;

function readHeader(segment: string): JwsHeader | undefined {
  const known = readHeaders.get(segment);
  if (known !== undefined) return known;
  const header = jwsHeader.safeParse(decodeObject(segment)).data;
  if (header === undefined || segment.length > maxHeaderLength) return header;
  readHeaders.set(segment, header);
  return header;
}

/** The JSON object in a segment; undefined where it is none, or where two parsers could read it differently. */
export function decodeObject(segment: string): object | undefined {
  const bytes = decodeBase64url(segment);
  return bytes && parseExactObject(bytes);
}
