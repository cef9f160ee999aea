/** What the verifier takes from its surroundings, so that tests and other runtimes can give their own. */
export interface VerifierPorts {
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds since the epoch: compared with what tokens say. */
  readonly now: () => number;
  /** Milliseconds on a clock that never steps: measures how old a view is. */
  readonly monotonicMs: () => number;
  /** [0, 1): spreads refreshes. */
  readonly random: () => number;
  /** Runs once after `ms` without keeping the process alive; answers how to cancel. */
  readonly after: (ms: number, run: () => void) => () => void;
}

export const defaultPorts: VerifierPorts = {
  fetch: (...request) => globalThis.fetch(...request),
  now: Date.now,
  monotonicMs: () => performance.now(),
  random: Math.random,
  after: (ms, run) => {
    const timer: unknown = setTimeout(run, ms);
    // Only Node's timers hold a process, and only there can they be told not to.
    (timer as { unref?: () => void }).unref?.();
    return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
  },
};
