import { createHash, timingSafeEqual } from "node:crypto";
import { ApiError } from "./api-error.ts";

/** Who may call what (docs/reference/routes.md#planes-and-bearers). */
export const planes = ["admin", "audit", "identity", "enforcement", "signals"] as const;
export type Plane = (typeof planes)[number];

/** One of a plane's tokens; the label is what the record calls its holder. */
export interface BearerToken {
  readonly label: string;
  readonly token: string;
}

/** The holder of a token. */
export interface Bearer {
  readonly plane: Plane;
  readonly label: string;
  /** Tells the token from every other without holding it. */
  readonly id: string;
}

/** Answers the holder of an `Authorization` header that opens the plane, or the other one, or throws the 401. */
export type Bearers = (plane: Plane, authorization: string | null, or?: Plane) => Bearer;

/** A plane's own tokens and those it falls back to. */
const accepted: Readonly<Record<Plane, readonly Plane[]>> = {
  admin: ["admin"],
  audit: ["audit", "admin"],
  identity: ["identity", "audit", "admin"],
  /** No other plane's holder needs root grants. */
  enforcement: ["enforcement"],
  /** Nor do they speak for the identity provider. */
  signals: ["signals"],
};

type PlaneTokens = Readonly<Record<Plane, readonly BearerToken[]>>;

const hashed = (tokens: PlaneTokens) =>
  planes.flatMap((plane) =>
    tokens[plane].map(({ label, token }) => {
      const hash = sha256(token);
      return { hash, holder: { plane, label, id: hash.toString("base64url") } };
    }),
  );

/** The holders of the tokens that open a plane. */
export const holdersOf = (tokens: PlaneTokens, plane: Plane): readonly Bearer[] =>
  hashed(tokens).flatMap(({ holder }) => (accepted[plane].includes(holder.plane) ? [holder] : []));

export function createBearers(tokens: PlaneTokens): Bearers {
  const known = hashed(tokens);
  return (plane, authorization, or = plane) => {
    const hash = sha256(bearerToken(authorization));
    // Every hash is compared, so that the time tells neither which token came close nor how many there are.
    const matches = known.filter((candidate) => timingSafeEqual(candidate.hash, hash));
    const match = matches.find(({ holder }) => [plane, or].some((each) => accepted[each].includes(holder.plane)));
    if (match === undefined) throw unauthorized();
    return match.holder;
  };
}

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

/** RFC 6750 section 2.1: one scheme, one token68. Two headers arrive joined by a comma, which no token68 holds. */
const bearerHeader = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** @throws the 401 where the header is absent or holds anything but one bearer token. */
export function bearerToken(authorization: string | null): string {
  const token = bearerHeader.exec(authorization ?? "")?.[1];
  if (token === undefined) throw unauthorized(withoutToken(authorization ?? ""));
  return token;
}

function withoutToken(authorization: string): string {
  if (authorization === "") return "No bearer token was sent; send Authorization: Bearer.";
  return /^Bearer(?: |$)/i.test(authorization)
    ? "The Authorization header does not hold one bearer token."
    : "Another scheme than Bearer was sent; send Authorization: Bearer.";
}

export const unauthorized = (message = "The bearer token is not valid for this route."): ApiError =>
  new ApiError("unauthorized", message);
