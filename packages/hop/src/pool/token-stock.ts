import { decodeUnverifiedHopToken } from "@svc/tokens";
import type { PoolStore } from "./file-pool-store.ts";

export interface StockedToken {
  readonly token: string;
  /** On the monotonic clock. */
  readonly expiresAtMs: number;
}

export interface StockPorts {
  readonly store: PoolStore | undefined;
  /** Milliseconds since the epoch, for stored tokens. */
  readonly now: () => number;
  /** Milliseconds on a clock that never steps. */
  readonly monotonicMs: () => number;
}

/** The stored state could not be read or written, so none of its tokens may be used. */
export class StateUnavailable extends Error {
  override readonly name = "StateUnavailable";
}

export type TokenStock = ReturnType<typeof tokenStock>;

/** Tokens that no call gets: one to renew with, and a spare in case the response is lost. */
export const reservedCount = 2;

/** Decide, exchange and mint take 2.5 s together at most: a token must live as long to be of use. */
const minLifeMs = 2_500;

/**
 * The unspent tokens of one pool, soonest to expire first. Only reserved tokens are stored, and one of them is used only
 * after a save that no longer names it: a restart finds no token that may have been presented. The free ones are lost
 * on a restart.
 */
export function tokenStock(key: string, sessionId: string, { store, now, monotonicMs }: StockPorts) {
  let free: StockedToken[] = [];
  let reserved: StockedToken[] = [];
  let unsaved: StockedToken[] = [];
  /** How many decisions each token is presented for at present: none of these may be spent meanwhile. */
  const readers = new Map<StockedToken, number>();

  const isUnread = (token: StockedToken): boolean => !readers.has(token);

  const prune = () => {
    const soonestMs = monotonicMs() + minLifeMs;
    const isUsable = ({ expiresAtMs }: StockedToken) => expiresAtMs > soonestMs;
    if (!free.every(isUsable)) free = free.filter(isUsable);
    if (!reserved.every(isUsable)) reserved = reserved.filter(isUsable);
  };

  /** Tokens that can be used now or after a save. */
  const total = () => {
    prune();
    return free.length + reserved.length;
  };

  const write = async (kept: readonly StockedToken[]) => {
    const toWall = now() - monotonicMs();
    const tokens = kept.map(({ token, expiresAtMs }) => ({ token, expiresAt: Math.floor(expiresAtMs + toWall) }));
    await accessed(async () => store?.save(key, { sessionId, tokens }));
  };

  /** A free token, unless fewer than `leaving` would remain in all. */
  const takeFree = (leaving: number): StockedToken | undefined => {
    const taken = total() > leaving ? free.find(isUnread) : undefined;
    if (taken) free = free.filter((token) => token !== taken);
    return taken;
  };

  return {
    total,
    takeFree,
    hasUnsaved: () => unsaved.length > 0,
    /** Whether some token is in no decision. */
    canTake: () => free.some(isUnread) || reserved.some(isUnread),
    holds: (token: string) =>
      reserved.some((each) => each.token === token) || free.some((each) => each.token === token),
    /** Whether some decision is under way. */
    isRead: () => readers.size > 0,

    /** The token that lives longest, to be presented and not spent until `done`. */
    read(): { readonly token: string; readonly done: () => void } | undefined {
      prune();
      const token = reserved.at(-1) ?? free.at(-1);
      if (!token) return undefined;
      readers.set(token, (readers.get(token) ?? 0) + 1);
      const done = () => {
        const left = (readers.get(token) ?? 1) - 1;
        if (left > 0) readers.set(token, left);
        else readers.delete(token);
      };
      return { token: token.token, done };
    },

    /**
     * Loads what was stored under this key, else `presented` alone.
     * @returns when the first of these tokens expires; infinity where they live as long as the session
     * @throws {StateUnavailable}
     */
    async open(presented: string): Promise<number> {
      const snapshot = await accessed(async () => store?.load(key));
      const toMonotonic = monotonicMs() - now();
      if (!snapshot) {
        // The control plane says whether it is expired.
        reserved = [{ token: presented, expiresAtMs: Number.POSITIVE_INFINITY }];
        return lifeEndMs(presented) + toMonotonic;
      }
      reserved = snapshot.tokens.map(({ token, expiresAt }) => ({ token, expiresAtMs: expiresAt + toMonotonic }));
      prune();
      return Math.min(Number.POSITIVE_INFINITY, ...reserved.map(({ expiresAtMs }) => expiresAtMs));
    },

    /** A free token, else a reserved one. @throws {StateUnavailable} */
    async takeAny(): Promise<StockedToken | undefined> {
      const taken = takeFree(0);
      if (taken) return taken;
      const first = reserved.find(isUnread);
      if (!first) return undefined;
      const rest = reserved.filter((token) => token !== first);
      // Out of reach at once: a decision that began during the write could not keep it from being spent.
      reserved = rest;
      try {
        await write(rest);
      } catch (error) {
        reserved = sorted([first, ...reserved]);
        throw error;
      }
      return first;
    },

    giveBack(token: StockedToken) {
      free = sorted([...free, token]);
    },

    /** Forgets the free tokens, but for as many as are missing from the reserved ones. */
    shrink() {
      const kept = Math.max(0, reservedCount - reserved.length);
      free = free.slice(Math.max(0, free.length - kept));
    },

    /** Adds renewed tokens; none is usable before `save`. */
    add(tokens: readonly StockedToken[]) {
      unsaved.push(...tokens);
    },

    /** Reserves the tokens that live longest, frees the others. @throws {StateUnavailable} and changes nothing then */
    async save(): Promise<void> {
      const all = sorted([...reserved, ...unsaved]);
      const longest = all.slice(-reservedCount);
      await write(longest);
      reserved = longest;
      unsaved = [];
      free = sorted([...free, ...all.slice(0, -reservedCount)]);
      prune();
    },

    /** Forgets everything, in the store too. A store that keeps it does no harm: its tokens are unspent. */
    async discard(): Promise<void> {
      free = [];
      reserved = [];
      unsaved = [];
      await store?.remove(key).catch(() => undefined);
    },
  };
}

/** A root grant lives as long as its session (docs/reference/tokens.md#kinds). */
function lifeEndMs(token: string): number {
  const claims = decodeUnverifiedHopToken(token);
  return claims && claims.hop > 1 ? claims.exp * 1000 : Number.POSITIVE_INFINITY;
}

const sorted = (tokens: StockedToken[]): StockedToken[] => tokens.sort((a, b) => a.expiresAtMs - b.expiresAtMs);

async function accessed<T>(access: () => Promise<T>): Promise<T> {
  try {
    return await access();
  } catch (cause) {
    throw new StateUnavailable("pool state unavailable", { cause });
  }
}
