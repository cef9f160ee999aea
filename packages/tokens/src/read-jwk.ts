import { z } from "zod/mini";
import { decodeBase64url } from "./encoding.ts";
import { algorithmsOf, type PrivateJwk, type PublicJwk } from "./jwk.ts";

/** Why key material is not taken. */
export const keyRefusals = ["malformed", "private", "symmetric", "unsupported", "unsealable"] as const;
export type KeyRefusal = (typeof keyRefusals)[number];

/** Key material from a setting, a file or the database that cannot be used. Its message holds nothing of the key. */
export class KeyRefused extends Error {
  override readonly name = "KeyRefused";
  readonly code: KeyRefusal;

  constructor(code: KeyRefusal) {
    super(`key refused: ${code}`);
    this.code = code;
  }
}

const coordinateBytes = 32;

// Only the canonical spelling: two spellings of one key would have two thumbprints, and pass for two keys.
const coordinate = z.string().check(z.refine((text) => decodeBase64url(text)?.length === coordinateBytes));

const ec = { kty: z.literal("EC"), crv: z.literal("P-256"), x: coordinate, y: coordinate };
const okp = { kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: coordinate };

const publicJwk = z.discriminatedUnion("kty", [z.object(ec), z.object(okp)]);
const privateJwk = z.discriminatedUnion("kty", [
  z.object({ ...ec, d: coordinate }),
  z.object({ ...okp, d: coordinate }),
]);

/** The stated purpose of a JWK (RFC 7517 section 4); without one every purpose is allowed. */
const purpose = z.object({
  use: z.optional(z.string()),
  key_ops: z.optional(z.array(z.string())),
  alg: z.optional(z.string()),
});

/** Members that only a private or a symmetric key has (RFC 7518 section 6). */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "priv"];
const supportedCurves: ReadonlyMap<string, string> = new Map([
  ["EC", "P-256"],
  ["OKP", "Ed25519"],
]);

const keyType = z.looseObject({ kty: z.string() });

/** The key without its surroundings (`kid`, `use`, ...), or why it is not taken. A public key with a private member is refused. */
export function readPublicJwk(value: unknown): PublicJwk | KeyRefusal {
  const jwk = keyType.safeParse(value).data;
  if (jwk === undefined) return "malformed";
  if (jwk.kty === "oct" || jwk.k !== undefined) return "symmetric";
  if (privateMembers.some((member) => jwk[member] !== undefined)) return "private";
  return readJwk(publicJwk, jwk, "verify");
}

/** The private key without its surroundings. @throws {KeyRefused} */
export function readPrivateJwk(value: unknown): PrivateJwk {
  const jwk = keyType.safeParse(value).data;
  if (jwk === undefined) throw new KeyRefused("malformed");
  const key = jwk.kty === "oct" ? "symmetric" : readJwk(privateJwk, jwk, "sign");
  if (typeof key === "string") throw new KeyRefused(key);
  return key;
}

function readJwk<T extends PublicJwk>(
  schema: z.ZodMiniType<T>,
  jwk: { readonly kty: string; readonly [member: string]: unknown },
  operation: "sign" | "verify",
): T | KeyRefusal {
  if (!supportedCurves.has(jwk.kty)) return "unsupported";
  if (jwk.crv === undefined) return "malformed";
  if (supportedCurves.get(jwk.kty) !== jwk.crv) return "unsupported";
  const key = schema.safeParse(jwk).data;
  const stated = purpose.safeParse(jwk).data;
  if (key === undefined || stated === undefined) return "malformed";
  const fits =
    (stated.use === undefined || stated.use === "sig") &&
    (stated.alg === undefined || algorithmsOf(key).includes(stated.alg)) &&
    (stated.key_ops === undefined || stated.key_ops.includes(operation));
  return fits ? key : "unsupported";
}
