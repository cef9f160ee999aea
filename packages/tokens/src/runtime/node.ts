import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  sign,
  timingSafeEqual,
  verify,
} from "node:crypto";
import { LRUCache } from "lru-cache";
import type { PrivateJwk, PublicJwk } from "../jwk.ts";
import type { CheckJws, JwsHeader, Runtime, SignJws } from "./port.ts";

// RFC 7518 section 3.4: a JWS holds R || S, not the DER that OpenSSL writes by default.
const dsaEncoding = "ieee-p1363";

/** ECDSA names its digest; Ed25519 brings its own (RFC 8032). */
const digestOf = (jwk: PublicJwk) => (jwk.kty === "EC" ? "sha256" : null);

const jwkInput = (jwk: PublicJwk | PrivateJwk) => ({ key: { ...jwk }, format: "jwk" as const });

function signer(jwk: PrivateJwk): SignJws {
  const digest = digestOf(jwk);
  const key: KeyObject = createPrivateKey(jwkInput(jwk));
  return (header, payload) => {
    const input = signingInput(header, payload);
    return `${input}.${sign(digest, Buffer.from(input), { key, dsaEncoding }).toString("base64url")}`;
  };
}

const signingInput = (header: JwsHeader, payload: string): string => `${headerSegment(header)}.${toBase64url(payload)}`;

/** All tokens of one kind and key have the same header. */
const segments = new LRUCache<string, string>({ max: 64 });

function headerSegment(header: JwsHeader): string {
  const { alg, typ, kid } = header;
  const name = `${typ} ${alg} ${kid}`;
  const known = segments.get(name);
  if (known !== undefined) return known;
  const segment = toBase64url(JSON.stringify(header));
  segments.set(name, segment);
  return segment;
}

function checker(jwk: PublicJwk): CheckJws {
  const digest = digestOf(jwk);
  const key: KeyObject = createPublicKey(jwkInput(jwk));
  return (token) => {
    const { input, signature } = splitSignature(token);
    return verify(digest, Buffer.from(input), { key, dsaEncoding }, signature);
  };
}

function splitSignature(token: string): { readonly input: string; readonly signature: Buffer } {
  const dot = token.lastIndexOf(".");
  return { input: token.slice(0, Math.max(dot, 0)), signature: Buffer.from(token.slice(dot + 1), "base64url") };
}

function mac(secret: Uint8Array): ReturnType<Runtime["mac"]> {
  const key = createSecretKey(secret);
  const of = (input: string) => createHmac("sha256", key).update(input);
  return {
    sign(header, payload) {
      const input = signingInput(header, payload);
      return `${input}.${of(input).digest("base64url")}`;
    },
    check(token) {
      const { input, signature } = splitSignature(token);
      const expected = of(input).digest();
      return signature.length === expected.length && timingSafeEqual(signature, expected);
    },
  };
}

const toBase64url = (data: Uint8Array | string): string =>
  (typeof data === "string" ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.byteLength)).toString(
    "base64url",
  );

export const runtime: Runtime = {
  sha256Base64url: (data) => hash("sha256", data, "base64url"),
  toBase64url,
  fromBase64url: (text) => Buffer.from(text, "base64url"),
  signer,
  checker,
  derive: (secret, purpose) => new Uint8Array(hkdfSync("sha256", secret, "", purpose, 32)),
  mac,
};
