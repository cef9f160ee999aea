/** The first retry of a failed renewal is immediate; the delays then double up to the longest. */
const firstDelayMs = 250;
const longestDelayMs = 5_000;

/** After a refusal a renewal in the background waits this long: the agent's state or a block may have changed. */
const refusedDelayMs = 1_000;

/** Two renewals closer together than this show nothing about how much longer newer tokens live. */
const minElapsedMs = 1_000;

/** Tokens that were used up within this time are needed as fast again. */
const highDemandMs = 10_000;

/** When the next renewal may be sent, when one is due although no call waits, and how many tokens calls will need. */
export function renewalPace(monotonicMs: () => number, random: () => number) {
  let failures = 0;
  let notBeforeMs = Number.NEGATIVE_INFINITY;
  let refreshAtMs = Number.POSITIVE_INFINITY;
  let refusedUntilMs = Number.NEGATIVE_INFINITY;
  let newestExpiryMs = Number.NEGATIVE_INFINITY;
  let renewedAtMs = Number.NEGATIVE_INFINITY;
  let leasesSinceRenewal = 0;
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
    /** Whether a call was to be spent for yet: before that the presented token is kept as it is. */
    hasRenewed: () => hasRenewed,
    isRefusalFresh: () => monotonicMs() < refusedUntilMs,
    /** Leases to expect before the next renewal. In high demand twice the last number: else the count never grows. */
    expectedLeases: () => Math.max(1, leasesSinceRenewal) * (monotonicMs() - renewedAtMs < highDemandMs ? 2 : 1),
    leased() {
      leasesSinceRenewal += 1;
    },
    /** Its answer brought the next token: no renewal has to. */
    replaced() {
      leasesSinceRenewal -= 1;
    },
    /** The tokens that a pool begins with; infinity where they live as long as the session. */
    opened(expiresAtMs: number) {
      planRefresh(monotonicMs(), expiresAtMs);
    },
    renewed(sentAtMs: number, expiresAtMs: number) {
      hasRenewed = true;
      failures = 0;
      isResponseLost = false;
      leasesSinceRenewal = 0;
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
      failed();
    },
    refused() {
      refusedUntilMs = monotonicMs() + refusedDelayMs;
    },
  };
}
