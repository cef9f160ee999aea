/** Whether decision and exchange are asked for in one trip just now. */
export interface OneTripUse {
  isWorthAsking(): boolean;
  /** The control plane serves none: the next calls make two trips. */
  unserved(): void;
}

/** One call in this time finds out whether the control plane serves it by now, as it will after a deploy. */
const askAgainMs = 60_000;

/** @param onUnserved told each time that the control plane was found to serve none */
export function createOneTripUse(monotonicMs: () => number, onUnserved: () => void): OneTripUse {
  let nextMs = 0;
  return {
    isWorthAsking: () => monotonicMs() >= nextMs,
    unserved() {
      // Calls that were under way together find out together.
      if (monotonicMs() >= nextMs) onUnserved();
      nextMs = monotonicMs() + askAgainMs;
    },
  };
}
