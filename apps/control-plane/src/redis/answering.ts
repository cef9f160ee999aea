import { setTimeout as delay } from "node:timers/promises";
import { within } from "../ports/deadline.ts";
import { GuardUnavailable } from "../ports/replay-guard.ts";
import type { Store } from "./store.ts";

/** A store asked within a deadline, and connected anew when it stays silent. */
export interface AnsweringStore {
  /** Throws GuardUnavailable on a late answer, an error reply, or none to be had. */
  ask<T>(command: (store: Store) => Promise<T>): Promise<T>;
  /** Resolves once it is connected, or after the time. */
  connected(withinMs: number): Promise<void>;
  close(): void;
}

export interface AnsweringOptions {
  readonly deadlineMs: number;
  /** Told once per outage, when answers stop. */
  readonly onUnavailable: (cause: unknown) => void;
}

/**
 * Commands on their way, late ones included. A server that stands still must not collect more: the driver would keep
 * them in memory and write them all when it goes on.
 */
const maxPending = 1024;

/** A connection that answers nothing for this long is given up: it may lead to a server that is gone. */
const silenceMs = 2000;

/** Drivers tell of their connection by different events, and only at a start is it waited for. */
const lookEveryMs = 10;

/**
 * The driver's own timeouts do not bound a command that was already written, so every one is raced against our
 * deadline. What answers later is ignored, and its effect unknown.
 */
export function answering(connect: () => Store, { deadlineMs, onUnavailable }: AnsweringOptions): AnsweringStore {
  let store = connect();
  let pending = 0;
  let silentSinceMs: number | undefined;

  const failed = (cause: unknown): GuardUnavailable => {
    const nowMs = performance.now();
    if (silentSinceMs === undefined) {
      silentSinceMs = nowMs;
      onUnavailable(cause);
    } else if (nowMs - silentSinceMs > silenceMs) {
      silentSinceMs = nowMs;
      store.destroy();
      store = connect();
    }
    return new GuardUnavailable("the cache store does not answer", { cause });
  };

  const settled = () => {
    pending -= 1;
  };

  return {
    async ask(command) {
      if (!store.isReady()) throw failed(new Error("not connected"));
      if (pending >= maxPending) throw failed(new Error("too many commands without an answer"));
      pending += 1;
      const answer = command(store);
      answer.then(settled, settled);
      try {
        const value = await within(deadlineMs, answer, () => new Error(`no answer within ${deadlineMs} ms`));
        silentSinceMs = undefined;
        return value;
      } catch (cause) {
        throw failed(cause);
      }
    },
    async connected(withinMs) {
      const untilMs = performance.now() + withinMs;
      while (!store.isReady() && performance.now() < untilMs) await delay(lookEveryMs);
    },
    close: () => store.destroy(),
  };
}
