import { maxRenewalCount } from "../steps/renew.ts";
import { reservedCount } from "./token-stock.ts";

/** The first retry of a failed renewal is immediate; the delays then double up to the longest. */
const firstDelayMs = 250;
const longestDelayMs = 5_000;

/**
 * After a refusal or a lost response a renewal in the background waits this long: the agent's state or a block may have
 * changed, and what lost one response may lose the next.
 */
const backgroundDelayMs = 1_000;

/** Two renewals closer together than this show nothing about how much longer newer tokens live. */
const minElapsedMs = 1_000;

/** When the next renewal may be sent, and when one is due although no call waits. */
export function renewalPace(monotonicMs: () => number, random: () => number) {
  let failures = 0;
  let notBeforeMs = Number.NEGATIVE_INFINITY;
  let refreshAtMs = Number.POSITIVE_INFINITY;
  let calmFromMs = Number.NEGATIVE_INFINITY;
  let newestExpiryMs = Number.NEGATIVE_INFINITY;
  let renewedAtMs = Number.NEGATIVE_INFINITY;
  let isResponseLost = false;
  let hasRenewed = false;

  /** About half of a life: the other half covers a restart of the control plane. */
  const planRefresh = (fromMs: number, expiresAtMs: number) => {
    refreshAtMs = Number.isFinite(expiresAtMs)
      ? fromMs + (0.4 + 0.2 * random()) * (expiresAtMs - fromMs)
      : Number.POSITIVE_INFINITY;
  };

  /** The new tokens expire hardly later than the ones before although time passed: the session's end bounds them. */
  const isSessionEnding = (sentAtMs: number, expiresAtMs: number): boolean => {
    const elapsedMs = sentAtMs - renewedAtMs;
    const gainedMs = expiresAtMs - newestExpiryMs;
    return Number.isFinite(elapsedMs) && elapsedMs >= minElapsedMs && gainedMs < elapsedMs / 2;
  };

  const failed = () => {
    failures += 1;
    const delayMs = failures === 1 ? 0 : firstDelayMs * 2 ** (failures - 2);
    notBeforeMs = monotonicMs() + Math.min(delayMs, longestDelayMs);
  };

  return {
    mayRenew: () => monotonicMs() >= notBeforeMs,
    /** A stalled control plane would cost one token per attempt; a readiness check costs none. */
    needsReadyCheck: () => isResponseLost,
    /** True from about half of the tokens' life on. */
    isRefreshDue: () => monotonicMs() >= refreshAtMs,
    /** Before a decision allows the call, neither the presented token is worth a renewal nor, after a loss, the last one. */
    mayRenewToTake: () => hasRenewed && !isResponseLost,
    /** Whether a call was to be spent for yet: before that the presented token is kept as it is. */
    hasRenewed: () => hasRenewed,
    mayRenewInBackground: () => monotonicMs() >= calmFromMs,
    /** The tokens that a pool begins with; infinity where they live as long as the session. */
    opened(expiresAtMs: number) {
      planRefresh(monotonicMs(), expiresAtMs);
    },
    renewed(sentAtMs: number, expiresAtMs: number) {
      hasRenewed = true;
      failures = 0;
      isResponseLost = false;
      notBeforeMs = Number.NEGATIVE_INFINITY;
      planRefresh(sentAtMs, isSessionEnding(sentAtMs, expiresAtMs) ? Number.POSITIVE_INFINITY : expiresAtMs);
      newestExpiryMs = expiresAtMs;
      renewedAtMs = sentAtMs;
    },
    /** @param waitMs that the control plane asks for */
    failed(waitMs = 0) {
      failed();
      notBeforeMs = Math.max(notBeforeMs, monotonicMs() + waitMs);
    },
    responseLost() {
      isResponseLost = true;
      calmFromMs = monotonicMs() + backgroundDelayMs;
      failed();
    },
    refused() {
      calmFromMs = monotonicMs() + backgroundDelayMs;
    },
  };
}

/** Calls that wait for a token to spend: `toTake` in one trip, whose answer brings the next token. */
interface Waiting {
  readonly toSpend: number;
  readonly toTake: number;
}

/**
 * How many siblings to ask for: what the waiting calls need, and the reserved ones, which a renewal always makes anew. A
 * call that exchanges by itself spends one, and leaves one to the call after it. A call in one trip puts one back: as many
 * go round as calls are at once, and no others are held in stock.
 * @param total of the tokens that are left
 */
export const renewalCount = ({ toSpend, toTake }: Waiting, total: number): number =>
  Math.min(maxRenewalCount, Math.max(reservedCount, reservedCount + 2 * toSpend + toTake - total));
