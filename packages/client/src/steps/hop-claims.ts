import { z } from "zod";

const claims = z.object({
  iss: z.string(),
  sub: z.string().min(1),
  aud: z.string().min(1),
  scope: z.string(),
  hop: z.int().min(1),
  sid: z.string().min(1),
  exp: z.int(),
  action_id: z.string().optional(),
  act: z.unknown(),
});

/** A hop token's claims as its holder reads them. Nothing here was verified: whoever admits the token verifies it. */
export interface HopClaims {
  readonly issuer: string;
  readonly sub: string;
  readonly audience: string;
  readonly scope: string;
  readonly hop: number;
  readonly sessionId: string;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  readonly actionId: string | undefined;
  /** The human first, the current actor last; its length is `hop`. */
  readonly actChain: readonly string[];
}

/** Undefined for anything that is not a hop token. */
export function readHopClaims(token: string): HopClaims | undefined {
  const body = claims.safeParse(payloadOf(token)).data;
  if (!body) return undefined;
  const actors = unwind(body.act);
  if (!actors) return undefined;
  // A root grant has no `act`, and its audience is the issuer: the human is the actor (contract: Tokens).
  const actChain = actors.length === 0 ? [body.sub] : [...actors, body.aud];
  if (actChain.length !== body.hop || actChain[0] !== body.sub) return undefined;
  return {
    issuer: body.iss,
    sub: body.sub,
    audience: body.aud,
    scope: body.scope,
    hop: body.hop,
    sessionId: body.sid,
    expiresAt: body.exp,
    actionId: body.action_id,
    actChain,
  };
}

/** The `sub`s of a nested `act`, innermost first. Undefined where a level has none. */
function unwind(act: unknown): string[] | undefined {
  const subs: string[] = [];
  for (let level = act; level !== undefined; level = (level as { act?: unknown }).act) {
    const sub = actor.safeParse(level).data?.sub;
    if (sub === undefined) return undefined;
    subs.unshift(sub);
  }
  return subs;
}

const actor = z.object({ sub: z.string().min(1) });

/** The payload of a compact JWS, or undefined. */
export function payloadOf(token: string): unknown {
  const segments = token.split(".");
  if (segments.length !== 3 || segments[1] === undefined) return undefined;
  try {
    const bytes = Uint8Array.from(atob(segments[1].replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
