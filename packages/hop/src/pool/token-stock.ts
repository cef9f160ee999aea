import type { PoolSnapshot, PoolStore } from "./pool-store.ts";

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

/** The state could not be read or written, so no token of it may be used. */
export class StateUnavailable extends Error {
  override readonly name = "StateUnavailable";
}

/** Tokens kept back: one to renew with, and one spare should the answer be lost. */
export const keptBack = 2;

/** A token is worth presenting while decide, exchange and mint (2.5 s together) can still end before it expires. */
const leastLifeMs = 2_500;

/**
 * The unspent tokens of one pool, soonest to expire first. Those kept back are stored, and one of them is used only
 * after a save that no longer names it: a restart finds no token that may have been presented. The others are free to
 * use, and a restart forgets them.
 */
export class TokenStock {
  readonly #key: string;
  readonly #sessionId: string;
  readonly #ports: StockPorts;
  #free: StockedToken[] = [];
  #kept: StockedToken[] = [];
  #unsaved: StockedToken[] = [];

  constructor(key: string, sessionId: string, ports: StockPorts) {
    this.#key = key;
    this.#sessionId = sessionId;
    this.#ports = ports;
  }

  /** Unspent, unexpired and usable now or after a save. */
  get total(): number {
    return this.#free.length + this.#kept.length;
  }

  get hasUnsaved(): boolean {
    return this.#unsaved.length > 0;
  }

  /**
   * Takes up what was stored under this key; where nothing was, `presented` is the first token.
   *
   * @throws {StateUnavailable}
   */
  async open(presented: string): Promise<void> {
    const { store, now, monotonicMs } = this.#ports;
    const snapshot = await guarded(async () => store?.load(this.#key));
    const toMonotonic = monotonicMs() - now();
    this.#kept = snapshot
      ? snapshot.tokens.map(({ token, expiresAt }) => ({ token, expiresAtMs: expiresAt + toMonotonic }))
      : [{ token: presented, expiresAtMs: Number.POSITIVE_INFINITY }];
    this.prune();
  }

  /** A free token, unless fewer than `leave` would remain in all. */
  take(leave: number): StockedToken | undefined {
    this.prune();
    return this.total > leave ? this.#free.shift() : undefined;
  }

  /**
   * Any token, one kept back where none is free.
   *
   * @throws {StateUnavailable}
   */
  async draw(): Promise<StockedToken | undefined> {
    this.prune();
    const free = this.#free.shift();
    if (free) return free;
    const [first, ...rest] = this.#kept;
    if (!first) return undefined;
    await this.#save(rest);
    this.#kept = rest;
    return first;
  }

  giveBack(token: StockedToken): void {
    this.#free = sorted([...this.#free, token]);
  }

  /** Adds renewed tokens; none can be used before `settle` stored which are kept back. */
  add(tokens: readonly StockedToken[]): void {
    this.#unsaved.push(...tokens);
  }

  /**
   * Keeps back the freshest and frees the others.
   *
   * @throws {StateUnavailable} and then every token stays where it was
   */
  async settle(): Promise<void> {
    const all = sorted([...this.#kept, ...this.#unsaved]);
    const kept = all.slice(-keptBack);
    await this.#save(kept);
    this.#kept = kept;
    this.#unsaved = [];
    this.#free = sorted([...this.#free, ...all.slice(0, -keptBack)]);
    this.prune();
  }

  /** Forgets everything, in the store too. A store that cannot forget does no harm: what it holds is unspent. */
  async discard(): Promise<void> {
    this.#free = [];
    this.#kept = [];
    this.#unsaved = [];
    await this.#ports.store?.remove(this.#key).catch(() => undefined);
  }

  prune(): void {
    const soonestMs = this.#ports.monotonicMs() + leastLifeMs;
    const lives = ({ expiresAtMs }: StockedToken) => expiresAtMs > soonestMs;
    if (!this.#free.every(lives)) this.#free = this.#free.filter(lives);
    if (!this.#kept.every(lives)) this.#kept = this.#kept.filter(lives);
  }

  async #save(kept: readonly StockedToken[]): Promise<void> {
    const { store, now, monotonicMs } = this.#ports;
    if (!store) return;
    const toWall = now() - monotonicMs();
    const tokens = kept.map(({ token, expiresAtMs }) => ({ token, expiresAt: Math.floor(expiresAtMs + toWall) }));
    const snapshot: PoolSnapshot = { sessionId: this.#sessionId, tokens };
    await guarded(() => store.save(this.#key, snapshot));
  }
}

const sorted = (tokens: StockedToken[]): StockedToken[] => tokens.sort((a, b) => a.expiresAtMs - b.expiresAtMs);

async function guarded<T>(access: () => Promise<T>): Promise<T> {
  try {
    return await access();
  } catch (cause) {
    throw new StateUnavailable("pool state unavailable", { cause });
  }
}
