import { z } from "zod/mini";

/** RFC 8693 section 4.1: the current actor is outermost, earlier actors are nested; the innermost is the human. */
export interface Act {
  readonly sub: string;
  readonly act?: Act;
}

export const actClaim: z.ZodMiniType<Act> = z.object({
  sub: z.string().check(z.minLength(1)),
  // biome-ignore lint/plugin: Zod's form of a schema that contains itself; it is made once
  get act() {
    return z.exactOptional(actClaim);
  },
});

interface ChainClaims {
  readonly sub: string;
  readonly aud: string;
  readonly act: Act | null;
}

/** The actors from the outermost inwards. */
function* actors(act: Act | null): Generator<string> {
  for (let level: Act | undefined = act ?? undefined; level !== undefined; level = level.act) yield level.sub;
}

/** Whether `act` has a level for each hop before `hop`, and `human` is the innermost. */
export function isHistoryOf(human: string, hop: number, act: Act): boolean {
  const chain = [...actors(act)];
  return chain.length === hop - 1 && chain.at(-1) === human;
}

/** [human, first delegate, ..., current actor], `hop` long: only the human while the issuer is the audience. */
export const actChain = (claims: ChainClaims): readonly string[] =>
  claims.act === null ? [claims.sub] : [...[...actors(claims.act)].reverse(), claims.aud];

/** The caller that holds the token: the human at hop 1, afterwards its audience. */
export const callerOfToken = (claims: ChainClaims): string => (claims.act === null ? claims.sub : claims.aud);

/** The `act` of the next token: the caller, over those before (docs/reference/tokens.md#the-act-chain). */
export const nextAct = (claims: ChainClaims): Act => ({
  sub: callerOfToken(claims),
  ...(claims.act !== null && { act: claims.act }),
});
