import type { Clock } from "../ports/clock.ts";

/** A wall clock that is further behind was set back. Less is noise and smearing. */
const toleratedMs = 1_000;

interface SteadyClockOptions {
  readonly wallMs?: () => number;
  readonly monotonicMs?: () => number;
  /** Called once each time that the wall clock was set back. */
  readonly onSetBack?: () => void;
}

/**
 * A wall clock that never goes back, so that what has expired stays expired. It follows a clock that is set forward at
 * once. After a clock was set back it continues at its own pace until the wall clock has caught up.
 */
export function steadyClock(options: SteadyClockOptions = {}): Clock {
  const { wallMs = Date.now, monotonicMs = () => performance.now(), onSetBack = () => {} } = options;
  let offsetMs = Number.NEGATIVE_INFINITY;
  let isBehind = false;
  return {
    nowMs() {
      const elapsedMs = monotonicMs();
      const wallOffsetMs = wallMs() - elapsedMs;
      const wasBehind = isBehind;
      isBehind = offsetMs - wallOffsetMs > toleratedMs;
      if (isBehind && !wasBehind) onSetBack();
      offsetMs = Math.max(offsetMs, wallOffsetMs);
      return Math.floor(elapsedMs + offsetMs);
    },
  };
}
