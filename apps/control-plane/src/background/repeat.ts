export interface Repetition {
  /** Resolves after the first run. */
  readonly firstRun: Promise<void>;
  isClosed(): boolean;
  close(): void;
}

/** Calls `run` now, and again after each pause that it returns in milliseconds. It must not reject. */
export function repeat(run: () => Promise<number>): Repetition {
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const runAgain = async (): Promise<void> => {
    const pauseMs = await run();
    if (!isClosed) timer = setTimeout(runAgain, pauseMs).unref();
  };
  return {
    // Not before the caller has the repetition.
    firstRun: Promise.resolve().then(runAgain),
    isClosed: () => isClosed,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
