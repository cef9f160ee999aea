import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from "node:crypto";
import type { PrivateJwk, PublicJwk } from "../jwk.ts";
import type { CheckJws, Runtime, SignJws } from "./port.ts";

// RFC 7518 section 3.4: a JWS holds R || S, not the DER that OpenSSL writes by default.
const dsaEncoding = "ieee-p1363";

/** ECDSA names its digest; Ed25519 brings its own (RFC 8032). */
const digestOf = (jwk: PublicJwk) => (jwk.kty === "EC" ? "sha256" : null);

const jwkInput = (jwk: PublicJwk | PrivateJwk) => ({ key: { ...jwk }, format: "jwk" as const });

function signer(jwk: PrivateJwk): SignJws {
  const digest = digestOf(jwk);
  const key: KeyObject = createPrivateKey(jwkInput(jwk));
  return (header, payload) => {
    const input = `${toBase64url(JSON.stringify(header))}.${toBase64url(payload)}`;
    return `${input}.${sign(digest, Buffer.from(input), { key, dsaEncoding }).toString("base64url")}`;
  };
}

function checker(jwk: PublicJwk): CheckJws {
  const digest = digestOf(jwk);
  const key: KeyObject = createPublicKey(jwkInput(jwk));
  return (token) => {
    const dot = token.lastIndexOf(".");
    const signature = Buffer.from(token.slice(dot + 1), "base64url");
    return verify(digest, Buffer.from(token.slice(0, Math.max(dot, 0))), { key, dsaEncoding }, signature);
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
};
