import { createHmac, createPrivateKey, sign, type webcrypto } from "node:crypto";

/** Tokens that a JWT library refuses to make, composed byte by byte. */
export interface Parts {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Readonly<Record<string, unknown>>;
}

export function partsOf(token: string): Parts & { readonly signature: string } {
  const [header = "", payload = "", signature = ""] = token.split(".");
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
  return { header: read(header), payload: read(payload), signature };
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");

const signingInput = ({ header, payload }: Parts): string => `${encode(header)}.${encode(payload)}`;

/** With any signature. */
export const withSignature = (parts: Parts, signature: string): string => `${signingInput(parts)}.${signature}`;

/** ES256 with this key, whatever `alg` the header has. */
export function signedBy(jwk: webcrypto.JsonWebKey, parts: Parts): string {
  const key = createPrivateKey({ key: jwk, format: "jwk" });
  const signature = sign("sha256", Buffer.from(signingInput(parts)), { key, dsaEncoding: "ieee-p1363" });
  return withSignature(parts, signature.toString("base64url"));
}

/** HS256 with any bytes as the shared secret. */
export const keyedWith = (secret: string | Buffer, parts: Parts): string =>
  withSignature(parts, createHmac("sha256", secret).update(signingInput(parts)).digest("base64url"));
