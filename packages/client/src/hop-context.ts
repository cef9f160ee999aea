import { actChain, callerOfToken, decodeUnverifiedHopToken } from "@svc/tokens";
import type { HopCredential } from "./steps/step.ts";

/** Where an agent stands in a delegation: session and token, no more (specification: Client value objects). */
export interface HopContext extends HopCredential {
  /** [human, first delegate, ..., current actor], read from the token's `act` claim. */
  readonly actChain: readonly string[];
  /** Length of `actChain`. */
  readonly hop: number;
  /** Who acts: the token's `aud` where it was delegated, else its `sub`. */
  readonly caller: string;
  /** `Authorization` and `X-Svc-Session` for a call that goes through an enforcement point. */
  headers(): { Authorization: string; "X-Svc-Session": string };
  /** The next recipient's context: the same session with a newly narrowed token. */
  advanced(token: string): HopContext;
}

/**
 * Reads, and does not verify, the token.
 *
 * @throws {TypeError} where it is no hop token; the message does not repeat it
 */
export function hopContext(sessionId: string, token: string): HopContext {
  const claims = decodeUnverifiedHopToken(token);
  if (!claims) throw new TypeError("not a hop token");
  const chain = actChain(claims);
  return Object.freeze({
    sessionId,
    token,
    actChain: chain,
    hop: chain.length,
    caller: callerOfToken(claims),
    headers: () => ({ Authorization: `Bearer ${token}`, "X-Svc-Session": sessionId }),
    advanced: (narrowed: string) => hopContext(sessionId, narrowed),
  });
}
