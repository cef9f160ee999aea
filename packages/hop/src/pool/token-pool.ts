import { denyReasonTable, type ErrorCode, errorCodes } from "@svc/core";
import type { Unusable } from "../steps/answer.ts";
import { maxRenewalCount, type RenewResult } from "../steps/renew.ts";
import type { HopCredential } from "../steps/step.ts";
import { RenewalPace } from "./renewal-pace.ts";
import type { LeaseOptions, LeaseResult, RenewalSource } from "./renewal-pool.ts";
import { keptBack, StateUnavailable, type StockedToken, type StockPorts, TokenStock } from "./token-stock.ts";
import { Waiters } from "./waiters.ts";

export interface TokenPoolPorts extends StockPorts {
  readonly source: RenewalSource;
  readonly random: () => number;
  readonly after: (ms: number, run: () => void) => () => void;
}

type Unleased = Exclude<LeaseResult, { kind: "leased" }>;

/** Fewest siblings worth a renewal: one for now, one for the next call, and those kept back. */
const leastRenewalCount = keptBack + 2;

/** Faults of a store by which the control plane says that it did nothing. */
const untouchedCodes: readonly unknown[] = [
  "guard_unavailable",
  "database_unavailable",
  "audit_unavailable",
] satisfies ErrorCode[];

/** Whether the presented token is still unspent: the answer is a refusal of the control plane's own, or never left us. */
function isUntouched({ fault, answer }: Unusable): boolean {
  if (fault === "refused") return true;
  if (fault !== "status" || !answer || !errorCodes.some((code) => code === answer.code)) return false;
  return (answer.status >= 400 && answer.status < 500) || untouchedCodes.includes(answer.code);
}

/**
 * The siblings of one presented token. Calls take the free ones; one renewal at a time brings more, before they run
 * out and before they expire.
 */
export class TokenPool {
  readonly sessionId: string;
  readonly #presented: string;
  readonly #ports: TokenPoolPorts;
  readonly #stock: TokenStock;
  readonly #pace: RenewalPace;
  readonly #waiters: Waiters;
  #tending = Promise.resolve();
  #isTending = false;
  #isOpen = false;
  #isClosed = false;
  #isRejected = false;
  #isRenewing = false;
  #isAnswerLost = false;
  /** Renewals are refused for good: what is left is only good for decisions that say so. */
  #isOver = false;
  #isRefusedForNow = false;
  #onLoan = 0;
  #leasesSinceRenewal = 0;
  #lastLeaseMs: number;
  #lastFailure: Unleased = { kind: "unauthorized" };

  constructor(key: string, { sessionId, token }: HopCredential, ports: TokenPoolPorts) {
    this.sessionId = sessionId;
    this.#presented = token;
    this.#ports = ports;
    this.#stock = new TokenStock(key, sessionId, ports);
    this.#waiters = new Waiters(ports.after);
    this.#pace = new RenewalPace(ports.monotonicMs, ports.random);
    this.#lastLeaseMs = ports.monotonicMs();
  }

  get lastLeaseMs(): number {
    return this.#lastLeaseMs;
  }

  get isBusy(): boolean {
    return this.#isTending || this.#waiters.size > 0;
  }

  /** Nothing is left; only the memory remains that the presented token must not be presented again. */
  get isDry(): boolean {
    return this.#isOpen && !this.isBusy && this.#stock.total === 0 && !this.#stock.hasUnsaved;
  }

  /** The presented token itself did not verify: nothing was spent and nothing is worth remembering. */
  get isRejected(): boolean {
    return this.#isRejected;
  }

  async lease(options: LeaseOptions): Promise<LeaseResult> {
    if (options.signal?.aborted) return { kind: "unusable", fault: "aborted" };
    this.#lastLeaseMs = this.#ports.monotonicMs();
    // Whoever waits already comes first; who comes alone has a past refusal asked again.
    const isAlone = this.#waiters.size === 0;
    if (isAlone) this.#isRefusedForNow = false;
    const result = (isAlone && this.#leaseNow()) || this.#waiters.wait(options);
    this.tend();
    return result;
  }

  /** Renews where that is due, in the background; whoever waits and cannot be helped is told so. */
  tend(): void {
    if (this.#isTending) return;
    this.#isTending = true;
    this.#tending = this.#run();
  }

  /** Refused for now, one unspent token goes from waiter to waiter, for each to be denied on record. */
  get #circulates(): boolean {
    return this.#isRefusedForNow && this.#waiters.size > 0;
  }

  /** Turns everybody away; resolves when a renewal under way is over and stored. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiters.turnAway({ kind: "unusable", fault: "closed" });
    await this.#tending;
  }

  /** Ends the pool for good, its stored state included. */
  async end(): Promise<void> {
    await this.close();
    await this.#stock.discard();
  }

  /** The end of the loop and what follows it are one step: no lease can come between them and find nobody tending. */
  async #run(): Promise<void> {
    try {
      if (!this.#isOpen && this.#pace.mayRenew) {
        await this.#stock.open(this.#presented);
        this.#isOpen = true;
      }
      while (this.#isOpen && !this.#isClosed) {
        if (this.#stock.hasUnsaved && this.#pace.mayRenew) await this.#stock.settle();
        this.#serve();
        if (this.#isRenewalWanted()) await this.#renew();
        else if (this.#isReleaseWanted()) await this.#release();
        else break;
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isTending = false;
      this.#turnAwayTheHopeless();
    }
  }

  #isRenewalWanted(): boolean {
    const { total } = this.#stock;
    if (total === 0 || this.#isOver || this.#circulates || !this.#pace.mayRenew) return false;
    if (this.#waiters.size > 0) return true;
    return !this.#pace.isRefusalFresh && (total <= keptBack || this.#pace.isRefreshDue);
  }

  /** Where nothing is renewed any more, no token needs to be kept back for it. */
  #isReleaseWanted(): boolean {
    return this.#isOver && this.#waiters.size > 0 && this.#stock.total > 0;
  }

  async #release(): Promise<void> {
    const token = await this.#stock.draw();
    if (token) this.#stock.giveBack(token);
  }

  async #renew(): Promise<void> {
    const { source, monotonicMs } = this.#ports;
    // A stalled control plane would eat one token per attempt; asking whether it is ready costs none.
    if (this.#isAnswerLost && !(await source.ready())) return this.#pace.failed();
    const token = await this.#stock.draw();
    if (!token) return;
    const askedAtMs = monotonicMs();
    this.#isRenewing = true;
    this.#serve();
    try {
      const presented = { sessionId: this.sessionId, token: token.token };
      const result = await source.renew(presented, this.#renewalCount());
      this.#isRenewing = false;
      await this.#absorb(result, token, askedAtMs);
    } catch (error) {
      // The source rejects only where nothing was sent; a state fault comes after the token's fate was noted.
      if (!(error instanceof StateUnavailable)) this.#stock.giveBack(token);
      throw error;
    } finally {
      this.#isRenewing = false;
    }
  }

  #renewalCount(): number {
    // As many again as went since the last one would never grow: that is how many it brought.
    const expected = Math.max(1, this.#leasesSinceRenewal) * (this.#pace.isBrisk ? 2 : 1);
    const wanted = keptBack + this.#waiters.size + expected - this.#stock.total;
    return Math.min(maxRenewalCount, Math.max(leastRenewalCount, wanted));
  }

  async #absorb(result: RenewResult, presented: StockedToken, askedAtMs: number): Promise<void> {
    switch (result.kind) {
      case "renewed": {
        const expiresAtMs = askedAtMs + result.expiresInSeconds * 1000;
        this.#pace.renewed(askedAtMs, expiresAtMs);
        this.#isAnswerLost = false;
        this.#leasesSinceRenewal = 0;
        this.#stock.add(result.tokens.map((token) => ({ token, expiresAtMs })));
        return this.#stock.settle();
      }
      case "refused":
        // The decision itself shall say so, and be recorded: the unspent token goes to those who wait.
        if (result.denyReason !== null && denyReasonTable[result.denyReason].isFinal) this.#isOver = true;
        else this.#isRefusedForNow = true;
        this.#onLoan = 0;
        this.#stock.giveBack(presented);
        return this.#pace.refused();
      case "token_spent":
        this.#lastFailure = { kind: "unauthorized" };
        return;
      case "unauthorized":
        this.#lastFailure = { kind: "unauthorized" };
        this.#isRejected = presented.token === this.#presented;
        return this.#stock.discard();
      case "unusable":
        this.#lastFailure = result;
        if (isUntouched(result)) this.#stock.giveBack(presented);
        else this.#isAnswerLost = true;
        return this.#pace.failed();
      default:
        return result satisfies never;
    }
  }

  #serve(): void {
    this.#waiters.serve(() => this.#leaseNow());
  }

  #leaseNow(): LeaseResult | undefined {
    const taken = this.#stock.take(this.#leftBehind());
    if (!taken) return undefined;
    this.#leasesSinceRenewal += 1;
    this.#onLoan += 1;
    let isHeld = true;
    const giveBack = () => {
      if (!isHeld) return;
      isHeld = false;
      this.#onLoan -= 1;
      this.#stock.giveBack(taken);
      this.#serve();
    };
    return { kind: "leased", lease: { token: taken.token, giveBack } };
  }

  #leftBehind(): number {
    if (this.#isOver || this.#circulates) return 0;
    return this.#isRenewing ? keptBack - 1 : keptBack;
  }

  #failed(error: unknown): void {
    if (error instanceof StateUnavailable) {
      this.#pace.failed();
      this.#lastFailure = { kind: "unusable", fault: "state_unavailable" };
      return;
    }
    // A fault of our own (an agent key that cannot sign): whoever waits sees it; nobody else was promised anything.
    this.#waiters.fail(error);
  }

  #turnAwayTheHopeless(): void {
    const tokensComeBack = (this.#isOver || this.#circulates) && this.#onLoan > 0;
    if (!tokensComeBack) this.#waiters.turnAway(this.#lastFailure);
    if (this.#isOpen && this.#stock.total === 0) this.#lastFailure = { kind: "unauthorized" };
  }
}
