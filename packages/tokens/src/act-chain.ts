import { z } from "zod";
import type { HopClaims } from "./claims.ts";

/** RFC 8693 section 4.1: who acts is outermost, earlier actors are nested; the innermost is the human. */
export interface Act {
  readonly sub: string;
  readonly act?: Act;
}

export const actClaim: z.ZodType<Act> = z.object({
  sub: z.string().min(1),
  get act() {
    return z.exactOptional(actClaim);
  },
});

/** The actors from the outermost inwards. */
function* actors(act: Act | null): Generator<string> {
  for (let level: Act | undefined = act ?? undefined; level !== undefined; level = level.act) yield level.sub;
}

/** Whether this is the history of a token at `hop` that `human` consented to: a level for each hop before, the human's innermost. */
export function isHistoryOf(human: string, hop: number, act: Act): boolean {
  const chain = [...actors(act)];
  return chain.length === hop - 1 && chain.at(-1) === human;
}

/**
 * [human, first delegate, ..., current actor]; its length is `hop`. At hop 1 only the human, since the audience of a
 * root grant is the issuer.
 */
export const actChain = (claims: Pick<HopClaims, "sub" | "aud" | "act">): readonly string[] =>
  claims.act === null ? [claims.sub] : [...[...actors(claims.act)].reverse(), claims.aud];

/** Who holds the token and calls with it: the human at hop 1, afterwards its audience. */
export const callerOfToken = (claims: Pick<HopClaims, "sub" | "aud" | "act">): string =>
  claims.act === null ? claims.sub : claims.aud;

/** The `act` of the token this one is exchanged for: the caller, and under it those before (contract: Tokens). */
export const nextAct = (claims: Pick<HopClaims, "sub" | "aud" | "act">): Act => ({
  sub: callerOfToken(claims),
  ...(claims.act !== null && { act: claims.act }),
});
