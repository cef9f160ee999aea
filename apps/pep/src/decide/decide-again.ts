import { decideAgain, type Hop, type HopPorts } from "@svc/hop";
import { decodeUnverifiedHopToken, hopTokenLifetimeSeconds } from "@svc/tokens";
import type { Limits } from "../limits.ts";
import type { RequestBody } from "../message/request-body.ts";
import { type Passing, type Refusal, refusalOf } from "./admit.ts";
import { acceptsTaint } from "./settle-body.ts";

export interface WatchPorts {
  readonly hop: HopPorts;
  readonly limits: Pick<Limits, "redecideMs">;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Has a long-lived call decided again every `redecideMs`, and closes it at the session's end or on the first response
 * that is no allow (docs/reference/enforcement-point.md#steps-of-a-call). In observe mode a deny closes nothing.
 * @param token the narrowed token of the call: its expiry may bound the session
 * @returns stops watching
 */
export function watchSession(ports: WatchPorts, hop: Hop, token: string, close: () => void): () => void {
  const { limits, now } = ports;
  let timer: NodeJS.Timeout;
  let isStopped = false;
  const plan = (latest: string | undefined) => {
    const untilEndMs = latest === undefined ? Number.POSITIVE_INFINITY : millisecondsToSessionEnd(latest, now());
    if (untilEndMs <= limits.redecideMs) timer = setTimeout(close, untilEndMs);
    else timer = setTimeout(() => void again(), limits.redecideMs);
  };
  const again = async () => {
    const result = await decideAgain(ports.hop, hop).catch(() => undefined);
    if (isStopped) return;
    if (result?.kind === "allowed") plan(result.token);
    else if (result?.kind === "denied" && !hop.enforced) plan(undefined);
    else close();
  };
  plan(token);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/**
 * The root grant ends with its session, and so does a token that lives shorter than a hop token should
 * (docs/reference/tokens.md#verification). Infinity for any other: the next decision finds the session's end.
 */
function millisecondsToSessionEnd(token: string, nowMs: number): number {
  const claims = decodeUnverifiedHopToken(token);
  const endsSession = claims && (claims.hop === 1 || claims.exp - claims.iat < hopTokenLifetimeSeconds);
  return endsSession ? Math.max(0, claims.exp * 1000 - nowMs) : Number.POSITIVE_INFINITY;
}

/** Decides again before the last bytes of a late body are sent. Undefined for a body that needs no second decision. */
export function lateBodyOf(ports: HopPorts, admission: Passing, body: RequestBody) {
  if (admission.kind !== "pass" || body.isWhole || acceptsTaint(admission.taken.decision)) return undefined;
  const { hop } = admission;
  let refusal: Refusal | undefined;
  return {
    /** True: the body may end. In observe mode a deny is recorded and the body ends all the same. */
    async mayEnd(): Promise<boolean> {
      const again = await decideAgain(ports, hop);
      if (again.kind === "allowed") return true;
      const refused = refusalOf(again);
      if (refused !== "gone") refusal = refused;
      return !hop.enforced && again.kind === "denied";
    },
    /** Of the second decision, where it was no allow. */
    get refusal() {
      return refusal;
    },
  };
}
