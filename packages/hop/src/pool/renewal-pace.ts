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
    /** True from about half of the newest tokens' life on: the other half covers a restart of the control plane. */
    isRefreshDue: () => monotonicMs() >= refreshAtMs,
    isRefusalFresh: () => monotonicMs() < refusedUntilMs,
    /** Leases to expect before the next renewal. In high demand twice the last number: else the count never grows. */
    expectedLeases: () => Math.max(1, leasesSinceRenewal) * (monotonicMs() - renewedAtMs < highDemandMs ? 2 : 1),
    leased() {
      leasesSinceRenewal += 1;
    },
    renewed(sentAtMs: number, expiresAtMs: number) {
      failures = 0;
      isResponseLost = false;
      leasesSinceRenewal = 0;
      notBeforeMs = Number.NEGATIVE_INFINITY;
      const share = 0.4 + 0.2 * random();
      refreshAtMs = isSessionEnding(sentAtMs, expiresAtMs)
        ? Number.POSITIVE_INFINITY
        : sentAtMs + share * (expiresAtMs - sentAtMs);
      newestExpiryMs = expiresAtMs;
      renewedAtMs = sentAtMs;
    },
    failed,
    responseLost() {
      isResponseLost = true;
      failed();
    },
    refused() {
      refusedUntilMs = monotonicMs() + refusedDelayMs;
    },
  };
}
