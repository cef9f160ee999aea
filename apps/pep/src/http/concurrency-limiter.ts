export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>;

/** Slots for calls under way. A call without a slot is shed at once, not queued. */
export function createConcurrencyLimiter(slots: number) {
  let inUse = 0;
  return {
    /** Returns the slot's release, which is idempotent; undefined: every slot is in use. */
    tryAcquire(): (() => void) | undefined {
      if (inUse >= slots) return undefined;
      inUse += 1;
      let isHeld = true;
      return () => {
        if (isHeld) inUse -= 1;
        isHeld = false;
      };
    },
  };
}
