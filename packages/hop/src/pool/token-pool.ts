import { denyReasonTable } from "@svc/core";
import { decodeUnverifiedHopToken } from "@svc/tokens";
import { maxRenewalCount, type RenewResult } from "../steps/renew.ts";
import { isUnspentAfter, retryAfterMsOf } from "../steps/send.ts";
import type { HopCredential } from "../steps/step.ts";
import { type LeaseOptions, type LeaseResult, leased, type Sibling, type Unleased } from "./lease.ts";
import { lentIn, nextAction, type PoolState, reservedIn } from "./pool-state.ts";
import { renewalPace } from "./renewal-pace.ts";
import type { RenewalSource } from "./renewal-source.ts";
import { reservedCount, StateUnavailable, type StockedToken, type StockPorts, tokenStock } from "./token-stock.ts";
import { waitingCalls } from "./waiters.ts";

export interface TokenPoolPorts extends StockPorts {
  readonly source: RenewalSource;
  /** Without a lease for so long a pool keeps the reserved tokens alone. */
  readonly idleMs: number;
  /** In [0, 1): spreads the renewals of pools that started together. */
  readonly random: () => number;
  /** Runs once after `ms`, without keeping the process alive; returns how to cancel. */
  readonly after: (ms: number, run: () => void) => () => void;
}

/** Fewest siblings worth a renewal: one for now, one for the next call, and the reserved ones. */
const minRenewalCount = reservedCount + 2;

/** The siblings of one presented token. Calls lease the free ones; one renewal at a time replaces them. */
export class TokenPool {
  readonly sessionId: string;
  lastLeaseMs: number;
  readonly #presented: string;
  readonly #ports: TokenPoolPorts;
  readonly #stock: ReturnType<typeof tokenStock>;
  readonly #pace: ReturnType<typeof renewalPace>;
  /** Calls that wait for a token to spend. */
  readonly #waiters: ReturnType<typeof waitingCalls>;
  /** Calls that wait for a token to decide with; served once no other waits. */
  readonly #deciding: ReturnType<typeof waitingCalls>;
  #state: PoolState = { kind: "unopened" };
  #working: Promise<void> | undefined;
  #lastFailure: Unleased = { kind: "unauthorized" };

  constructor(key: string, { sessionId, token }: HopCredential, ports: TokenPoolPorts) {
    this.sessionId = sessionId;
    this.#presented = token;
    this.#ports = ports;
    this.#stock = tokenStock(key, sessionId, ports);
    this.#waiters = waitingCalls(ports.after);
    this.#deciding = waitingCalls(ports.after);
    this.#pace = renewalPace(ports.monotonicMs, ports.random);
    this.lastLeaseMs = ports.monotonicMs();
  }

  get isBusy(): boolean {
    return this.#working !== undefined || this.#waiters.size() > 0 || this.#deciding.size() > 0;
  }

  /** Nothing was spent: a new pool of the presented token would be the same. */
  get isUntouched(): boolean {
    return !this.isBusy && !this.#pace.hasRenewed() && this.#stock.holds(this.#presented);
  }

  /** No call for a while. */
  get isIdle(): boolean {
    return this.#ports.monotonicMs() - this.lastLeaseMs >= this.#ports.idleMs;
  }

  /** No token is left; the pool only remembers that the presented token was spent. */
  get isDry(): boolean {
    return this.#isOpen && !this.isBusy && this.#stock.total() === 0 && !this.#stock.hasUnsaved();
  }

  get isRejected(): boolean {
    return this.#state.kind === "rejected";
  }

  /** A token to spend, renewed first where that is the only one. */
  async lease(options: LeaseOptions): Promise<LeaseResult> {
    // A call without others before it makes the pool try again after a refusal.
    if (this.#waiters.size() === 0 && this.#state.kind === "refused") this.#enter({ kind: "renewable" });
    return this.#leaseOf(this.#waiters, () => this.#leaseNow(), options);
  }

  /** A token to decide with: one that may be spent too, else a reserved one, which is not. Nothing is renewed for it. */
  async leaseToDecide(options: LeaseOptions): Promise<LeaseResult> {
    return this.#leaseOf(this.#deciding, () => this.#leaseNow() ?? this.#readNow(), options);
  }

  #leaseOf(
    queue: ReturnType<typeof waitingCalls>,
    next: () => LeaseResult | undefined,
    options: LeaseOptions,
  ): LeaseResult | Promise<LeaseResult> {
    if (options.signal?.aborted) return { kind: "unusable", fault: "aborted" };
    this.lastLeaseMs = this.#ports.monotonicMs();
    // Waiting calls come first.
    const result = (this.#waiters.size() === 0 && next()) || queue.wait(options);
    this.tend();
    return result;
  }

  /** Opens, renews and serves in the background, as far as that is due. */
  tend(): void {
    if (this.#working) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#working = promise;
    void this.#work().then(resolve);
  }

  /** Rejects the waiting calls; resolves when a renewal under way is over and stored. */
  async close(): Promise<void> {
    this.#enter({ kind: "closed" });
    this.#rejectAll({ kind: "unusable", fault: "closed" });
    await this.#working;
  }

  /** Ends the pool for good, its stored state included. */
  async end(): Promise<void> {
    await this.close();
    await this.#stock.discard();
  }

  get #isOpen(): boolean {
    return this.#state.kind !== "unopened" && this.#state.kind !== "closed";
  }

  /** A closed pool stays closed, whatever its last renewal returns. */
  #enter(state: PoolState): void {
    if (this.#state.kind !== "closed") this.#state = state;
  }

  /** Never rejects. Its last step is synchronous: a lease comes either before it and is served, or starts anew. */
  async #work(): Promise<void> {
    try {
      if (this.#state.kind === "unopened" && this.#pace.mayRenew()) {
        await this.#stock.open(this.#presented);
        this.#pace.opened(
          this.#stock.holds(this.#presented) ? this.#presentedUntilMs() : this.#stock.soonestExpiryMs(),
        );
        this.#enter({ kind: "renewable" });
      }
      while (this.#isOpen) {
        if (this.#stock.hasUnsaved() && this.#pace.mayRenew()) await this.#stock.save();
        this.#serve();
        const next = this.#nextAction();
        if (next === "rest") break;
        await (next === "renew" ? this.#renew() : this.#release());
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#working = undefined;
      this.#rejectUnservable();
    }
  }

  #nextAction(): ReturnType<typeof nextAction> {
    if (!this.#stock.canTake()) return "rest";
    return nextAction(this.#state, {
      mayRenew: this.#pace.mayRenew(),
      isWaiting: this.#waiters.size() > 0,
      isRefreshDue: this.#isRefreshDue,
    });
  }

  get #isRefreshDue(): boolean {
    if (this.#pace.isRefusalFresh()) return false;
    const isShort = this.#pace.hasRenewed() && !this.isIdle && this.#stock.total() <= reservedCount;
    return isShort || this.#pace.isRefreshDue();
  }

  /** A root grant lives as long as its session (docs/reference/tokens.md#kinds). */
  #presentedUntilMs(): number {
    const { now, monotonicMs } = this.#ports;
    const claims = decodeUnverifiedHopToken(this.#presented);
    return claims && claims.hop > 1 ? claims.exp * 1000 - now() + monotonicMs() : Number.POSITIVE_INFINITY;
  }

  /** Without renewals no token needs to stay reserved. */
  async #release(): Promise<void> {
    const token = await this.#stock.takeAny();
    if (token) this.#stock.giveBack(token);
  }

  async #renew(): Promise<void> {
    const { source, monotonicMs } = this.#ports;
    if (this.#pace.needsReadyCheck() && !(await source.ready())) return this.#pace.failed();
    const token = await this.#stock.takeAny();
    if (!token) return;
    const sentAtMs = monotonicMs();
    this.#enter({ kind: "renewing" });
    this.#serve();
    const wanted = reservedCount + this.#waiters.size() + this.#pace.expectedLeases() - this.#stock.total();
    const least = this.isIdle ? reservedCount : minRenewalCount;
    const count = Math.min(maxRenewalCount, Math.max(least, wanted));
    let result: RenewResult;
    try {
      result = await source.renew({ sessionId: this.sessionId, token: token.token }, count);
    } catch (error) {
      // The source rejects only where nothing was sent.
      this.#stock.giveBack(token);
      throw error;
    } finally {
      this.#enter({ kind: "renewable" });
    }
    await this.#absorb(result, token, sentAtMs);
  }

  async #absorb(result: RenewResult, presented: StockedToken, sentAtMs: number): Promise<void> {
    switch (result.kind) {
      case "renewed": {
        const expiresAtMs = sentAtMs + result.expiresInSeconds * 1000;
        this.#pace.renewed(sentAtMs, expiresAtMs);
        this.#stock.add(result.tokens.map((token) => ({ token, expiresAtMs })));
        return this.#stock.save();
      }
      case "refused": {
        const isFinal = result.denyReason !== null && denyReasonTable[result.denyReason].isFinal;
        this.#enter({ kind: isFinal ? "ended" : "refused", lent: new Set() });
        this.#stock.giveBack(presented);
        return this.#pace.refused();
      }
      case "token_spent":
        this.#lastFailure = { kind: "unauthorized" };
        return;
      case "proof_refused":
        this.#lastFailure = { kind: "unauthorized", response: result.response };
        this.#stock.giveBack(presented);
        return this.#pace.failed();
      case "unauthorized":
        this.#lastFailure = { kind: "unauthorized" };
        return this.#reject(presented.token);
      case "unusable":
        this.#lastFailure = result;
        if (!isUnspentAfter(result)) return this.#pace.responseLost();
        this.#stock.giveBack(presented);
        return this.#pace.failed(retryAfterMsOf(result.response));
      default:
        return result satisfies never;
    }
  }

  /** Of the tokens of one place in the chain none verifies where one does not. */
  async #reject(token: string): Promise<void> {
    if (token === this.#presented) this.#enter({ kind: "rejected" });
    await this.#stock.discard();
  }

  #serve(): void {
    this.#waiters.serve(() => this.#leaseNow());
    if (this.#waiters.size() === 0) this.#deciding.serve(() => this.#leaseNow() ?? this.#readNow());
  }

  #rejectAll(result: Unleased): void {
    this.#waiters.rejectAll(result);
    this.#deciding.rejectAll(result);
  }

  #leaseNow(): LeaseResult | undefined {
    const token = this.#stock.takeFree(reservedIn(this.#state));
    if (!token) return undefined;
    this.#pace.leased();
    const lent = lentIn(this.#state);
    lent?.add(token);
    const leasedAtMs = this.#ports.monotonicMs();
    const back = (returned: StockedToken) => {
      lent?.delete(token);
      this.#stock.giveBack(returned);
      this.#serve();
    };
    const replace = (sibling: Sibling) => {
      this.#pace.replaced();
      // From before it was asked for, so that it never counts as alive longer than it is.
      back({ token: sibling.token, expiresAtMs: leasedAtMs + sibling.expiresInSeconds * 1000 });
    };
    return leased({ token: token.token, maySpend: true }, { back: () => back(token), replace });
  }

  #readNow(): LeaseResult | undefined {
    const reading = this.#isOpen ? this.#stock.read() : undefined;
    if (!reading) return undefined;
    const { token, done } = reading;
    const back = () => {
      done();
      this.tend();
    };
    return leased({ token, maySpend: false }, { back, reject: () => void this.#reject(token) });
  }

  #failed(error: unknown): void {
    if (error instanceof StateUnavailable) {
      this.#pace.failed();
      this.#lastFailure = { kind: "unusable", fault: "state_unavailable" };
      return;
    }
    this.#waiters.failAll(error);
    this.#deciding.failAll(error);
  }

  /** A token in a decision or lent comes back and can still serve the waiting calls; nothing else can before the next `tend`. */
  #rejectUnservable(): void {
    if (!lentIn(this.#state)?.size && !this.#stock.isRead()) {
      this.#waiters.rejectAll(this.#lastFailure);
      this.#serve();
      this.#deciding.rejectAll(this.#lastFailure);
    }
    if (this.#isOpen && this.#stock.total() === 0) this.#lastFailure = { kind: "unauthorized" };
  }
}
