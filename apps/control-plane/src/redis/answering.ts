import { setTimeout as delay } from "node:timers/promises";
import { within } from "@svc/host";
import type { StoreAddress } from "./address.ts";
import { isReply, type StoreFault, storeFault } from "./fault.ts";
import { connectStore, type Store } from "./store.ts";

export interface StoreOptions {
  readonly address: StoreAddress;
  /** Of every command. */
  readonly deadlineMs?: number;
  /** Called once per outage. */
  readonly onUnavailable?: (cause: unknown) => void;
}

/** Late commands count too. A server that hangs must not collect more: the driver keeps them all in memory. */
const maxPending = 1024;

/** After so long without an answer it reconnects: the server may be gone. */
const silenceMs = 2000;

/** Polled at the start only, since each driver has other events of its connection. */
const lookEveryMs = 10;

/**
 * A store that reconnects when it stays silent. The driver's timeouts do not bound a command that was written, so each
 * has a deadline here. A later answer is ignored, and its effect is unknown.
 */
export function answeringStore(
  defaultDeadlineMs: number,
  { address, deadlineMs = defaultDeadlineMs, onUnavailable = () => {} }: StoreOptions,
) {
  let store = connectStore(address);
  let pending = 0;
  let isFailing = false;
  let silentSinceMs: number | undefined;

  const failed = (cause: unknown): StoreFault => {
    if (isReply(cause)) silentSinceMs = undefined;
    else reconnectAfterSilence();
    const fault = storeFault(cause);
    if (!isFailing) onUnavailable(fault);
    isFailing = true;
    return fault;
  };

  const reconnectAfterSilence = (): void => {
    const nowMs = performance.now();
    silentSinceMs ??= nowMs;
    if (nowMs - silentSinceMs <= silenceMs) return;
    silentSinceMs = nowMs;
    store.destroy();
    store = connectStore(address);
  };

  const settled = () => {
    pending -= 1;
  };

  const ask = async <T>(command: (store: Store) => Promise<T>): Promise<T> => {
    if (!store.isReady()) throw failed(store.fault() ?? new Error("not connected"));
    if (pending >= maxPending) throw failed(new Error("too many commands without an answer"));
    pending += 1;
    const answer = command(store);
    answer.then(settled, settled);
    try {
      const value = await within(deadlineMs, answer, () => new Error(`no answer within ${deadlineMs} ms`));
      silentSinceMs = undefined;
      isFailing = false;
      return value;
    } catch (cause) {
      throw failed(cause);
    }
  };

  return {
    /** @throws {GuardUnavailable} on a late answer, an error reply, or a lost connection. */
    ask,
    /** Undefined where the server refuses the command. @throws as `ask`. */
    askIfAllowed: <T>(command: (store: Store) => Promise<T>): Promise<T | undefined> =>
      ask((redis) =>
        command(redis).catch((cause: unknown) => {
          if (isReply(cause)) return undefined;
          throw cause;
        }),
      ),
    /** Resolves when it is connected, or after the time. */
    async connected(withinMs: number): Promise<void> {
      const untilMs = performance.now() + withinMs;
      while (!store.isReady() && performance.now() < untilMs) await delay(lookEveryMs);
    },
    close: () => store.destroy(),
  };
}
