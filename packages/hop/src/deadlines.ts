import { unorderedList } from "./unordered-list.ts";

/** Runs `late` once `ms` are over, and not before; returns how to cancel. */
export type Deadlines = (ms: number, late: () => void) => () => void;

/** Deadlines are looked for so often, and end as much late at most. */
const sweepMs = 20;

/** After the sockets of this turn of the event loop were read. */
export const nextTurn: (run: () => void) => void = globalThis.setImmediate ?? ((run: () => void) => setTimeout(run, 0));

/**
 * Deadlines of many requests with one timer: none is set and cleared for each. A deadline ends after the sockets were
 * read: a response that arrived counts, however late the timer runs.
 */
export function sharedDeadlines(monotonicMs: () => number): Deadlines {
  const pending = unorderedList<{ readonly endsAtMs: number; readonly end: () => void }>();
  let isSweeping = false;

  const plan = () => {
    isSweeping = pending.size() > 0;
    if (isSweeping) setTimeout(nextTurn, sweepMs, sweep);
  };
  const sweep = () => {
    const nowMs = monotonicMs();
    for (const { endsAtMs, end } of pending.members()) if (nowMs >= endsAtMs) end();
    plan();
  };

  return (ms, late) => {
    const end = () => {
      if (cancel()) late();
    };
    const cancel = pending.add({ endsAtMs: monotonicMs() + ms, end });
    if (!isSweeping) plan();
    return cancel;
  };
}
