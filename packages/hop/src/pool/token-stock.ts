import type { PoolSnapshot, PoolStore } from "./file-pool-store.ts";

export interface StockedToken {
  readonly token: string;
  /** On the monotonic clock. */
  readonly expiresAtMs: number;
}

export interface StockPorts {
  readonly store: PoolStore | undefined;
  readonly now: () => number;
  readonly monotonicMs: () => number;
}

/** The stored state could not be read or written, so none of its tokens may be used. */
export class StateUnavailable extends Error {
  override readonly name = "StateUnavailable";
}

/** Tokens that no call gets: one to renew with, and a spare in case the response is lost. */
export const reservedCount = 2;

/** Decide, exchange and mint take 2.5 s together at most: a token must live as long to be of use. */
const minLifeMs = 2_500;

/**
 * The unspent tokens of one pool, soonest to expire first. Only reserved tokens are stored, and one of them is used only
 * after a save that no longer names it: a restart finds no token that may have been presented. The free ones are lost
 * on a restart.
 */
export class TokenStock {
  readonly #key: string;
  readonly #sessionId: string;
  readonly #ports: StockPorts;
  #free: StockedToken[] = [];
  #reserved: StockedToken[] = [];
  #unsaved: StockedToken[] = [];

  constructor(key: string, sessionId: string, ports: StockPorts) {
    this.#key = key;
    this.#sessionId = sessionId;
    this.#ports = ports;
  }

  /** Tokens that can be used now or after a save. */
  get total(): number {
    return this.#free.length + this.#reserved.length;
  }

  get hasUnsaved(): boolean {
    return this.#unsaved.length > 0;
  }

  /**
   * Loads what was stored under this key; where nothing was, `presented` is the first token.
   *
   * @throws {StateUnavailable}
   */
  async open(presented: string): Promise<void> {
    const { store, now, monotonicMs } = this.#ports;
    const snapshot = await accessed(async () => store?.load(this.#key));
    const toMonotonic = monotonicMs() - now();
    this.#reserved = snapshot
      ? snapshot.tokens.map(({ token, expiresAt }) => ({ token, expiresAtMs: expiresAt + toMonotonic }))
      : [{ token: presented, expiresAtMs: Number.POSITIVE_INFINITY }];
    this.#prune();
  }

  /** A free token, unless fewer than `leaving` would remain in all. */
  takeFree(leaving: number): StockedToken | undefined {
    this.#prune();
    return this.total > leaving ? this.#free.shift() : undefined;
  }

  /**
   * A free token, else a reserved one.
   *
   * @throws {StateUnavailable}
   */
  async takeAny(): Promise<StockedToken | undefined> {
    const free = this.takeFree(0);
    if (free) return free;
    const [first, ...rest] = this.#reserved;
    if (!first) return undefined;
    await this.#write(rest);
    this.#reserved = rest;
    return first;
  }

  giveBack(token: StockedToken): void {
    this.#free = sorted([...this.#free, token]);
  }

  /** Adds renewed tokens; none is usable before `save`. */
  add(tokens: readonly StockedToken[]): void {
    this.#unsaved.push(...tokens);
  }

  /**
   * Reserves and stores the tokens that live longest, and frees the others.
   *
   * @throws {StateUnavailable} and then every token stays where it was
   */
  async save(): Promise<void> {
    const all = sorted([...this.#reserved, ...this.#unsaved]);
    const reserved = all.slice(-reservedCount);
    await this.#write(reserved);
    this.#reserved = reserved;
    this.#unsaved = [];
    this.#free = sorted([...this.#free, ...all.slice(0, -reservedCount)]);
    this.#prune();
  }

  /** Forgets everything, in the store too. A store that keeps it does no harm: its tokens are unspent. */
  async discard(): Promise<void> {
    this.#free = [];
    this.#reserved = [];
    this.#unsaved = [];
    await this.#ports.store?.remove(this.#key).catch(() => undefined);
  }

  #prune(): void {
    const soonestMs = this.#ports.monotonicMs() + minLifeMs;
    const isUsable = ({ expiresAtMs }: StockedToken) => expiresAtMs > soonestMs;
    if (!this.#free.every(isUsable)) this.#free = this.#free.filter(isUsable);
    if (!this.#reserved.every(isUsable)) this.#reserved = this.#reserved.filter(isUsable);
  }

  async #write(reserved: readonly StockedToken[]): Promise<void> {
    const { store, now, monotonicMs } = this.#ports;
    if (!store) return;
    const toWall = now() - monotonicMs();
    const tokens = reserved.map(({ token, expiresAtMs }) => ({ token, expiresAt: Math.floor(expiresAtMs + toWall) }));
    const snapshot: PoolSnapshot = { sessionId: this.#sessionId, tokens };
    await accessed(() => store.save(this.#key, snapshot));
  }
}

const sorted = (tokens: StockedToken[]): StockedToken[] => tokens.sort((a, b) => a.expiresAtMs - b.expiresAtMs);

async function accessed<T>(access: () => Promise<T>): Promise<T> {
  try {
    return await access();
  } catch (cause) {
    throw new StateUnavailable("pool state unavailable", { cause });
  }
}
