import type { Clock } from "../ports/clock.ts";

/** A wall clock that is behind by more than this was set back; less is noise and smearing. */
const toleratedMs = 1_000;

interface SteadyClockOptions {
  readonly wallMs?: () => number;
  /** Goes on whatever is done to the wall clock. */
  readonly monotonicMs?: () => number;
  /** Told once each time that the wall clock was set back. */
  readonly onSetBack?: () => void;
}

/**
 * The wall clock, but it never goes back: what has expired stays expired, whoever sets the clock. Set forward, it
 * follows at once; set back, it goes on at its own pace from where it was, until the wall clock has caught up or the
 * process starts again.
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
