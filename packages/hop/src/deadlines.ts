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
  const pending = new Set<{ readonly endsAtMs: number; readonly late: () => void }>();
  let isSweeping = false;

  const plan = () => {
    isSweeping = pending.size > 0;
    if (isSweeping) setTimeout(nextTurn, sweepMs, sweep);
  };
  const sweep = () => {
    const nowMs = monotonicMs();
    for (const each of pending) {
      if (nowMs < each.endsAtMs) continue;
      pending.delete(each);
      each.late();
    }
    plan();
  };

  return (ms, late) => {
    const deadline = { endsAtMs: monotonicMs() + ms, late };
    pending.add(deadline);
    if (!isSweeping) plan();
    return () => pending.delete(deadline);
  };
}
