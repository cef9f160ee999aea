import type { HopCredential } from "@svc/hop";
import { actChain, callerOfToken, decodeUnverifiedHopToken } from "@svc/tokens";

/**
 * An agent's place in a delegation (docs/reference/client.md#value-objects). Its own members, and so its JSON, are
 * session and token: all that another process needs. The others are read from the token.
 */
export interface HopContext extends HopCredential {
  /** [human, first delegate, ..., current actor], read from the token's `act` claim. */
  readonly actChain: readonly string[];
  /** Length of `actChain`. */
  readonly hop: number;
  /** The acting agent or human: the token's `aud` where it was delegated, else its `sub`. */
  readonly caller: string;
  /** `Authorization` and `X-Svc-Session`, for a call through an enforcement point. */
  headers(): { Authorization: string; "X-Svc-Session": string };
  /** The next recipient's context: the same session with a newly narrowed token. */
  advanced(token: string): HopContext;
}

/**
 * Reads the token and does not verify it.
 *
 * @throws {TypeError} where it is no hop token; the message does not contain it
 */
export function hopContext(sessionId: string, token: string): HopContext {
  const claims = decodeUnverifiedHopToken(token);
  if (!claims) throw new TypeError("not a hop token");
  const chain = actChain(claims);
  const derived: Omit<HopContext, keyof HopCredential> = {
    actChain: chain,
    hop: chain.length,
    caller: callerOfToken(claims),
    headers: () => ({ Authorization: `Bearer ${token}`, "X-Svc-Session": sessionId }),
    advanced: (narrowed) => hopContext(sessionId, narrowed),
  };
  return Object.freeze(Object.assign(Object.create(derived) as typeof derived, { sessionId, token }));
}
