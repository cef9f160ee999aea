/** Slots for calls under way. A call without a slot is shed at once, not queued. */
export interface ConcurrencyLimiter {
  /** Returns the slot's release, which is idempotent; undefined: every slot is in use. */
  tryAcquire(): (() => void) | undefined;
  readonly inUse: number;
}

export function createConcurrencyLimiter(slots: number): ConcurrencyLimiter {
  let inUse = 0;
  return {
    tryAcquire() {
      if (inUse >= slots) return undefined;
      inUse += 1;
      let isHeld = true;
      return () => {
        if (isHeld) inUse -= 1;
        isHeld = false;
      };
    },
    get inUse() {
      return inUse;
    },
  };
}
