/** Timers and a monotonic clock that move only on command, for background refreshes. */
export interface HandTurnedTime {
  readonly monotonicMs: () => number;
  readonly after: (ms: number, run: () => void) => () => void;
  /** Runs the timers that come due within the time, each at its own moment; `settle` after each. */
  pass(ms: number, settle: () => Promise<unknown>): Promise<void>;
}

export function handTurnedTime(): HandTurnedTime {
  const timers = new Set<{ dueMs: number; run: () => void }>();
  let nowMs = 0;
  return {
    monotonicMs: () => nowMs,
    after(ms, run) {
      const timer = { dueMs: nowMs + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async pass(ms, settle) {
      const untilMs = nowMs + ms;
      for (;;) {
        const [next] = [...timers].filter(({ dueMs }) => dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs);
        if (next === undefined) break;
        timers.delete(next);
        nowMs = Math.max(nowMs, next.dueMs);
        next.run();
        await settle();
      }
      nowMs = untilMs;
    },
  };
}
