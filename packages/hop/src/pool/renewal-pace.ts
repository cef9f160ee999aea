/** A failed renewal is tried again at once, then ever more slowly: a control plane that is down is not hammered. */
const firstDelayMs = 250;
const longestDelayMs = 5_000;

/** Distance at which a refusal on the merits is asked about again; the agent's state or a block may have changed. */
const refusedDelayMs = 1_000;

/** Two renewals closer together than this say nothing about what refreshing gains. */
const leastElapsedMs = 1_000;

/** Who needs the next tokens so soon after the last will go on so for a while. */
const briskMs = 10_000;

/** When the next renewal may be sent, and when one is due although no call needs a token. */
export class RenewalPace {
  readonly #monotonicMs: () => number;
  readonly #random: () => number;
  #failures = 0;
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #refreshAtMs = Number.POSITIVE_INFINITY;
  #refusedUntilMs = Number.NEGATIVE_INFINITY;
  #newestExpiryMs = Number.NEGATIVE_INFINITY;
  #renewedAtMs = Number.NEGATIVE_INFINITY;

  constructor(monotonicMs: () => number, random: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#random = random;
  }

  get mayRenew(): boolean {
    return this.#monotonicMs() >= this.#notBeforeMs;
  }

  /** True from about half of the newest tokens' life on, which leaves the other half for a control plane's restart. */
  get isRefreshDue(): boolean {
    return this.#monotonicMs() >= this.#refreshAtMs;
  }

  /** Whether the last tokens went fast: then more are asked for at once. */
  get isBrisk(): boolean {
    return this.#monotonicMs() - this.#renewedAtMs < briskMs;
  }

  /** While nobody waits, a refusal is not asked about again. */
  get isRefusalFresh(): boolean {
    return this.#monotonicMs() < this.#refusedUntilMs;
  }

  renewed(askedAtMs: number, expiresAtMs: number): void {
    this.#failures = 0;
    this.#notBeforeMs = Number.NEGATIVE_INFINITY;
    const share = 0.4 + 0.2 * this.#random();
    this.#refreshAtMs = this.#endsWithSession(askedAtMs, expiresAtMs)
      ? Number.POSITIVE_INFINITY
      : askedAtMs + share * (expiresAtMs - askedAtMs);
    this.#newestExpiryMs = expiresAtMs;
    this.#renewedAtMs = askedAtMs;
  }

  /** Siblings that live hardly longer than their elders although time went by: refreshing gains nothing. */
  #endsWithSession(askedAtMs: number, expiresAtMs: number): boolean {
    const elapsedMs = askedAtMs - this.#renewedAtMs;
    const gainedMs = expiresAtMs - this.#newestExpiryMs;
    return Number.isFinite(elapsedMs) && elapsedMs >= leastElapsedMs && gainedMs < elapsedMs / 2;
  }

  failed(): void {
    this.#failures += 1;
    const delayMs = this.#failures === 1 ? 0 : firstDelayMs * 2 ** (this.#failures - 2);
    this.#notBeforeMs = this.#monotonicMs() + Math.min(delayMs, longestDelayMs);
  }

  refused(): void {
    this.#refusedUntilMs = this.#monotonicMs() + refusedDelayMs;
  }
}
