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
export class RenewalPace {
  readonly #monotonicMs: () => number;
  readonly #random: () => number;
  #failures = 0;
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #refreshAtMs = Number.POSITIVE_INFINITY;
  #refusedUntilMs = Number.NEGATIVE_INFINITY;
  #newestExpiryMs = Number.NEGATIVE_INFINITY;
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  #leasesSinceRenewal = 0;
  #isResponseLost = false;

  constructor(monotonicMs: () => number, random: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#random = random;
  }

  get mayRenew(): boolean {
    return this.#monotonicMs() >= this.#notBeforeMs;
  }

  /** A stalled control plane would cost one token per attempt; a readiness check costs none. */
  get needsReadyCheck(): boolean {
    return this.#isResponseLost;
  }

  /** True from about half of the newest tokens' life on: the other half covers a restart of the control plane. */
  get isRefreshDue(): boolean {
    return this.#monotonicMs() >= this.#refreshAtMs;
  }

  get isRefusalFresh(): boolean {
    return this.#monotonicMs() < this.#refusedUntilMs;
  }

  /** Leases to expect before the next renewal. In high demand twice the last number: else the count never grows. */
  get expectedLeases(): number {
    const isHighDemand = this.#monotonicMs() - this.#renewedAtMs < highDemandMs;
    return Math.max(1, this.#leasesSinceRenewal) * (isHighDemand ? 2 : 1);
  }

  leased(): void {
    this.#leasesSinceRenewal += 1;
  }

  renewed(sentAtMs: number, expiresAtMs: number): void {
    this.#failures = 0;
    this.#isResponseLost = false;
    this.#leasesSinceRenewal = 0;
    this.#notBeforeMs = Number.NEGATIVE_INFINITY;
    const share = 0.4 + 0.2 * this.#random();
    this.#refreshAtMs = this.#isSessionEnding(sentAtMs, expiresAtMs)
      ? Number.POSITIVE_INFINITY
      : sentAtMs + share * (expiresAtMs - sentAtMs);
    this.#newestExpiryMs = expiresAtMs;
    this.#renewedAtMs = sentAtMs;
  }

  /** The new tokens expire hardly later than the ones before although time passed: the session's end bounds them. */
  #isSessionEnding(sentAtMs: number, expiresAtMs: number): boolean {
    const elapsedMs = sentAtMs - this.#renewedAtMs;
    const gainedMs = expiresAtMs - this.#newestExpiryMs;
    return Number.isFinite(elapsedMs) && elapsedMs >= minElapsedMs && gainedMs < elapsedMs / 2;
  }

  failed(): void {
    this.#failures += 1;
    const delayMs = this.#failures === 1 ? 0 : firstDelayMs * 2 ** (this.#failures - 2);
    this.#notBeforeMs = this.#monotonicMs() + Math.min(delayMs, longestDelayMs);
  }

  responseLost(): void {
    this.#isResponseLost = true;
    this.failed();
  }

  refused(): void {
    this.#refusedUntilMs = this.#monotonicMs() + refusedDelayMs;
  }
}
