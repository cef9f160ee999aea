import { denyReasonTable } from "@svc/core";
import type { RenewResult } from "../steps/renew.ts";
import { isUnspentAfter, retryAfterMsOf } from "../steps/send.ts";
import type { HopCredential } from "../steps/step.ts";
import type { LeaseOptions, LeaseResult, Unleased } from "./lease.ts";
import { poolLeases } from "./pool-leases.ts";
import { isOpen, nextAction, type PoolState } from "./pool-state.ts";
import { renewalCount, renewalPace } from "./renewal-pace.ts";
import type { RenewalSource } from "./renewal-source.ts";
import {
  reservedCount,
  StateUnavailable,
  type StockedToken,
  type StockPorts,
  type TokenStock,
  tokenStock,
} from "./token-stock.ts";
import type { After } from "./waiters.ts";

export interface TokenPoolPorts extends StockPorts {
  readonly source: RenewalSource;
  /** Without a lease for so long a pool shrinks to the reserved tokens. */
  readonly idleMs: number;
  /** In [0, 1): spreads the renewals of pools that started together. */
  readonly random: () => number;
  /** Without keeping the process alive. */
  readonly after: After;
}

export type LeasePurpose = "lease" | "leaseToTake" | "leaseToDecide";

/**
 * The siblings of one presented token. Calls lease the free ones, and put back what their answers bring. A renewal, one at
 * a time, serves calls that find none, and keeps the reserved ones alive.
 */
export class TokenPool {
  readonly presented: HopCredential;
  lastLeaseMs: number;
  readonly #ports: TokenPoolPorts;
  readonly #stock: TokenStock;
  readonly #pace: ReturnType<typeof renewalPace>;
  readonly #leases: ReturnType<typeof poolLeases>;
  #state: PoolState = { kind: "unopened" };
  #working: Promise<void> | undefined;
  #lastFailure: Unleased = { kind: "unauthorized" };

  constructor(key: string, presented: HopCredential, ports: TokenPoolPorts) {
    this.presented = presented;
    this.#ports = ports;
    this.#stock = tokenStock(key, presented.sessionId, ports);
    this.#pace = renewalPace(ports.monotonicMs, ports.random);
    this.#leases = poolLeases({
      ...ports,
      stock: this.#stock,
      state: () => this.#state,
      mayRenewToTake: this.#pace.mayRenewToTake,
      onRead: () => this.tend(),
      onRejected: (token) => void this.#reject(token),
    });
    this.lastLeaseMs = ports.monotonicMs();
  }

  get isBusy(): boolean {
    return this.#working !== undefined || this.#leases.hasWaiting();
  }

  /** Nothing was spent: a new pool of the presented token would be the same. */
  get isUntouched(): boolean {
    return !this.isBusy && !this.#pace.hasRenewed() && this.#stock.holds(this.presented.token);
  }

  /** No call for a while. */
  get isIdle(): boolean {
    return this.#ports.monotonicMs() - this.lastLeaseMs >= this.#ports.idleMs;
  }

  /** No token is left; the pool only remembers that the presented token was spent. */
  get isDry(): boolean {
    return isOpen(this.#state) && !this.isBusy && this.#stock.total() === 0 && !this.#stock.hasUnsaved();
  }

  get isRejected(): boolean {
    return this.#state.kind === "rejected";
  }

  /** A token to spend, renewed first where that is the only one. */
  async lease(options: LeaseOptions): Promise<LeaseResult> {
    // A call without others before it makes the pool try again after a refusal.
    if (this.#leases.waiting().toSpend === 0 && this.#state.kind === "refused") this.#enter({ kind: "renewable" });
    return this.#leased("lease", options);
  }

  /** A token to decide with and spend in one trip: a free one, renewed for it while both reserved ones are there. */
  async leaseToTake(options: LeaseOptions): Promise<LeaseResult> {
    return this.#leased("leaseToTake", options);
  }

  /** A token to decide with: a free one, which may be spent too, else one that is only read. Nothing is renewed for it. */
  async leaseToDecide(options: LeaseOptions): Promise<LeaseResult> {
    return this.#leased("leaseToDecide", options);
  }

  #leased(purpose: LeasePurpose, options: LeaseOptions): LeaseResult | Promise<LeaseResult> {
    if (options.signal?.aborted) return { kind: "unusable", fault: "aborted" };
    this.lastLeaseMs = this.#ports.monotonicMs();
    const result = this.#leases[purpose](options);
    // Refreshes come with the sweep: a lease that is served at once leaves nothing to do.
    if (result instanceof Promise) this.tend();
    return result;
  }

  /** Opens, renews and serves in the background, as far as that is due. */
  tend(): void {
    if (this.#working) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#working = promise;
    void this.#work().then(resolve);
  }

  /** What is left serves recorded denies, as after a refusal for good. A pool that loads its tokens learns it when it renews. */
  endRenewals(): void {
    if (isOpen(this.#state)) this.#enter({ kind: "ended", lent: new Set() });
    if (this.#leases.hasWaiting()) this.tend();
  }

  /** Rejects the waiting calls; resolves when a renewal under way is over and stored. */
  async close(): Promise<void> {
    this.#enter({ kind: "closed" });
    this.#leases.rejectAll({ kind: "unusable", fault: "closed" });
    await this.#working;
  }

  /** Ends the pool for good, its stored state included. */
  async end(): Promise<void> {
    await this.close();
    await this.#stock.discard();
  }

  /** A closed pool stays closed, and an ended one is not renewable again, whatever its last renewal returns. */
  #enter(state: PoolState): void {
    const { kind } = this.#state;
    if (kind === "closed" || (kind === "ended" && state.kind !== "closed" && state.kind !== "rejected")) return;
    this.#state = state;
  }

  /** Never rejects. Its last step is synchronous: a lease comes either before it and is served, or starts anew. */
  async #work(): Promise<void> {
    try {
      if (this.#state.kind === "unopened" && this.#pace.mayRenew()) {
        this.#pace.opened(await this.#stock.open(this.presented.token));
        this.#enter({ kind: "renewable" });
      }
      while (isOpen(this.#state)) {
        if (this.#stock.hasUnsaved() && this.#pace.mayRenew()) await this.#stock.save();
        if (this.isIdle) this.#stock.shrink();
        this.#leases.serve();
        const next = this.#nextAction();
        if (next === "rest") break;
        await (next === "renew" ? this.#renew() : this.#release());
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#working = undefined;
      // Nothing else can serve a call that still waits, before the next `tend`.
      this.#leases.rejectUnservable(this.#lastFailure);
      if (isOpen(this.#state) && this.#stock.total() === 0) this.#lastFailure = { kind: "unauthorized" };
    }
  }

  #nextAction(): ReturnType<typeof nextAction> {
    if (!this.#stock.canTake()) return "rest";
    const waiting = this.#leases.waiting();
    return nextAction(this.#state, {
      mayRenew: this.#pace.mayRenew(),
      isWaiting: waiting.toSpend + waiting.toTake > 0,
      isRefreshDue: this.#isRefreshDue,
    });
  }

  /** At half of the tokens' life, and once a reserved one was lost. */
  get #isRefreshDue(): boolean {
    if (!this.#pace.mayRenewInBackground()) return false;
    const isReserveShort = this.#pace.hasRenewed() && this.#stock.total() < reservedCount;
    return isReserveShort || this.#pace.isRefreshDue();
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
    this.#leases.serve();
    const count = renewalCount(this.#leases.waiting(), this.#stock.total());
    let result: RenewResult;
    try {
      result = await source.renew({ sessionId: this.presented.sessionId, token: token.token }, count);
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
    if (token === this.presented.token) this.#enter({ kind: "rejected" });
    await this.#stock.discard();
  }

  #failed(error: unknown): void {
    if (error instanceof StateUnavailable) {
      this.#pace.failed();
      this.#lastFailure = { kind: "unusable", fault: "state_unavailable" };
      return;
    }
    this.#leases.failAll(error);
  }
}
