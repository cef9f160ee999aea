/** Clocks, timers and `fetch`, replaceable for tests and other runtimes. */
export interface VerifierPorts {
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds since the epoch, compared with the times of tokens. */
  readonly now: () => number;
  /** Milliseconds on a clock that never steps, for the age of a view. */
  readonly monotonicMs: () => number;
  /** In [0, 1): spreads refreshes. */
  readonly random: () => number;
  /** Runs once after `ms` without keeping the process alive; returns how to cancel. */
  readonly after: (ms: number, run: () => void) => () => void;
}

export const defaultPorts: VerifierPorts = {
  fetch: (...request) => globalThis.fetch(...request),
  now: Date.now,
  monotonicMs: () => performance.now(),
  random: Math.random,
  after: (ms, run) => {
    const timer: unknown = setTimeout(run, ms);
    // Only Node's timers keep a process alive, and only they have `unref`.
    (timer as { unref?: () => void }).unref?.();
    return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
  },
};
