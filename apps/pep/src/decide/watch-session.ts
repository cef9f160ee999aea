import { decodeUnverifiedHopToken, hopTokenLifetimeSeconds } from "@svc/tokens";
import { decideAgain, type GuardPorts, type Hop } from "../guard.ts";
import type { Limits } from "../limits.ts";

export interface Watching {
  readonly hop: Hop;
  /** The narrowed token of the call, for what it tells of the session's end. */
  readonly token: string;
  readonly limits: Pick<Limits, "redecideMs">;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Ends the stream, the upgraded connection or the tunnel. */
  readonly close: () => void;
}

/**
 * Has a long-lived call decided again and again, and closes it at the session's end or on the first answer that is not
 * an allow (contract: What happens to a call, 4). In observe mode a deny is recorded and closes nothing.
 *
 * @returns how to stop watching
 */
export function watchSession(ports: GuardPorts, { hop, token, limits, now, close }: Watching): () => void {
  let timer: NodeJS.Timeout;
  let isStopped = false;
  const plan = (latest: string | undefined) => {
    const untilEndMs = latest === undefined ? Number.POSITIVE_INFINITY : millisecondsToSessionEnd(latest, now());
    if (untilEndMs <= limits.redecideMs) timer = setTimeout(close, untilEndMs);
    else timer = setTimeout(() => void again(), limits.redecideMs);
  };
  const again = async () => {
    const answer = await answerOf(ports, hop);
    if (isStopped) return;
    if (answer.isAllowed) plan(answer.token);
    else close();
  };
  plan(token);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

interface StillAllowed {
  readonly isAllowed: boolean;
  readonly token?: string;
}

async function answerOf(ports: GuardPorts, hop: Hop): Promise<StillAllowed> {
  try {
    const answer = await decideAgain(ports, hop);
    if (answer.kind === "allowed") return { isAllowed: true, token: answer.token };
    return { isAllowed: !hop.enforced && answer.kind === "refused" && answer.refusal.cause === "policy" };
  } catch {
    return { isAllowed: false };
  }
}

/**
 * What a token tells of its session's end: the root grant ends with the session, and so does any other token that
 * lives shorter than a hop token should (contract: Tokens). Infinity where it tells nothing; then the next decision
 * finds out.
 */
function millisecondsToSessionEnd(token: string, nowMs: number): number {
  const claims = decodeUnverifiedHopToken(token);
  const tells = claims && (claims.hop === 1 || claims.exp - claims.iat < hopTokenLifetimeSeconds);
  return tells ? Math.max(0, claims.exp * 1000 - nowMs) : Number.POSITIVE_INFINITY;
}
