import type { Clock } from "../ports/clock.ts";

/** A wall clock that is further behind was set back. Less is noise and smearing. */
const toleratedMs = 1_000;

interface SteadyClockOptions {
  readonly wallMs?: () => number;
  readonly monotonicMs?: () => number;
  /** Called once each time that the wall clock was set back. */
  readonly onSetBack?: () => void;
}

/** A time, and the monotonic clock after it was read: what passes until a later read is at least the difference. */
interface Reading {
  readonly timeMs: number;
  readonly monotonicMs: number;
}

/**
 * The wall clock, but it never goes back, so that what has expired stays expired. It is never ahead of the wall clock,
 * wherever the process is interrupted: it returns times that the wall clock showed. After a small step back it waits for
 * the wall clock. After a large one it continues at the monotonic clock's pace until the wall clock has caught up.
 */
export function steadyClock(options: SteadyClockOptions = {}): Clock {
  const { wallMs = Date.now, monotonicMs = () => performance.now(), onSetBack = () => {} } = options;
  let last: Reading = { timeMs: Number.NEGATIVE_INFINITY, monotonicMs: 0 };
  /** The last reading before the wall clock was set back. */
  let setBackAt: Reading | undefined;
  return {
    nowMs() {
      const beforeMs = monotonicMs();
      const shownMs = wallMs();
      const leastMs = advance(setBackAt ?? last, beforeMs);
      if (leastMs - shownMs > toleratedMs) {
        if (setBackAt === undefined) onSetBack();
        setBackAt ??= last;
        last = { timeMs: Math.floor(leastMs), monotonicMs: beforeMs };
      } else {
        setBackAt = undefined;
        last = { timeMs: Math.max(last.timeMs, shownMs), monotonicMs: monotonicMs() };
      }
      return last.timeMs;
    },
  };
}

/** What the wall clock shows at least, unless it was set back. */
const advance = ({ timeMs, monotonicMs }: Reading, nowMs: number): number => timeMs + (nowMs - monotonicMs);
