import { decideAgain, type Hop, type HopPorts } from "@svc/hop";
import { decodeUnverifiedSubject, type HopClaims, hopTokenLifetimeSeconds } from "@svc/tokens";
import type { Limits } from "../limits.ts";
import type { RequestBody } from "../message/request-body.ts";
import { blockedFor } from "../protocols/blocks.ts";
import { type Passing, type Refusal, refusalOf } from "./admit.ts";
import type { CallsUnderWay } from "./calls-under-way.ts";
import { acceptsTaint } from "./settle-body.ts";

export interface WatchPorts {
  readonly hop: HopPorts;
  readonly limits: Pick<Limits, "redecideMs">;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Absent: nothing is pushed. */
  readonly underWay?: CallsUnderWay | undefined;
}

/** A call under way, from its token to its end. */
export interface Watch {
  /** Why the call must end; undefined while it may go on. */
  refusal(): Refusal | undefined;
  /** Runs once, when the call must end. */
  onEnd(end: (refusal: Refusal) => void): void;
  /** The request is on its way to the upstream. */
  started(): void;
  stop(): void;
}

/** Of a call that has no decision to repeat. */
export const unwatched: Watch = { refusal: () => undefined, onEnd() {}, started() {}, stop() {} };

const sessionEnded: Refusal = blockedFor("session_ended");

/**
 * Has a call decided again every `redecideMs` and at each pushed act that may concern it, whatever it carries, and ends
 * it at the session's end or on the first response that is no allow
 * (docs/reference/enforcement-point.md#calls-under-way). Observe mode records these decisions and ends nothing, except
 * that no call starts with a token whose session has ended.
 * @param claims of the call's narrowed token: its expiry may bound the session
 */
export function watchSession(
  { hop: ports, limits, now, underWay }: WatchPorts,
  hop: Hop,
  claims: HopClaims | undefined,
): Watch {
  let timer: NodeJS.Timeout | undefined;
  let deciding: Promise<void> | undefined;
  /** The decision under way may be from before an act that was pushed since. */
  let isTooEarly = false;
  let hasStarted = false;
  let isStopped = false;
  let refusal: Refusal | undefined;
  let onEnd: ((refusal: Refusal) => void) | undefined;
  const stop = () => {
    isStopped = true;
    clearTimeout(timer);
    leave?.();
  };
  const end = (reason: Refusal) => {
    stop();
    refusal = reason;
    onEnd?.(reason);
  };
  const plan = (latest: HopClaims | undefined) => {
    clearTimeout(timer);
    const untilEndMs = latest ? millisecondsToSessionEnd(latest, now()) : Number.POSITIVE_INFINITY;
    if (untilEndMs > limits.redecideMs) timer = setTimeout(() => void again(), limits.redecideMs);
    else timer = setTimeout(() => (hop.enforced || !hasStarted) && end(sessionEnded), untilEndMs);
  };
  const decide = async (): Promise<void> => {
    let result: Awaited<ReturnType<typeof decideAgain>> | undefined;
    do {
      isTooEarly = false;
      result = await decideAgain(ports, hop).catch(() => undefined);
      if (isStopped) return;
    } while (isTooEarly && (result?.kind === "allowed" || !hop.enforced));
    deciding = undefined;
    if (result?.kind === "allowed") return plan(decodeUnverifiedSubject(result.token));
    if (!hop.enforced) return plan(undefined);
    const reason = result && refusalOf(result);
    end(reason === undefined || reason === "gone" ? { cause: "other" } : reason);
  };
  const again = (): Promise<void> => {
    isTooEarly = true;
    deciding ??= decide();
    return deciding;
  };
  plan(claims);
  const leave = underWay?.add({ sessionId: hop.credential.sessionId, claims, again });
  return {
    refusal: () => refusal,
    onEnd(run) {
      onEnd = run;
    },
    started() {
      hasStarted = true;
    },
    stop,
  };
}

/**
 * The root grant ends with its session, and so does a token that lives shorter than a hop token should
 * (docs/reference/tokens.md#verification). Infinity for any other: the next decision finds the session's end.
 */
function millisecondsToSessionEnd({ hop, iat, exp }: HopClaims, nowMs: number): number {
  const endsSession = hop === 1 || exp - iat < hopTokenLifetimeSeconds;
  return endsSession ? Math.max(0, exp * 1000 - nowMs) : Number.POSITIVE_INFINITY;
}

/** Decides again before the last bytes of a late body are sent. Undefined for a body that needs no second decision. */
export function lateBodyOf(ports: HopPorts, admission: Passing, body: RequestBody) {
  if (admission.kind !== "pass" || body.isWhole() || acceptsTaint(admission.taken.decision)) return undefined;
  const { hop } = admission;
  let refusal: Refusal | undefined;
  let decidingMs = 0;
  return {
    /** True: the body may end. In observe mode it always may. */
    async mayEnd(): Promise<boolean> {
      const startedMs = ports.steps.monotonicMs();
      const again = await decideAgain(ports, hop);
      decidingMs = ports.steps.monotonicMs() - startedMs;
      if (again.kind === "allowed") return true;
      const refused = refusalOf(again);
      if (refused !== "gone") refusal = refused;
      return !hop.enforced;
    },
    /** Of the second decision, where it was no allow. */
    refusal: () => refusal,
    /** Milliseconds that it took. */
    decidingMs: () => decidingMs,
  };
}
