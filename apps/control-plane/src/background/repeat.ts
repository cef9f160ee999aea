/**
 * Calls `run` now, and again after each pause in milliseconds. `onFault` gets what it throws before the close, and
 * whether the run before succeeded.
 */
export function repeat(
  run: () => Promise<void>,
  pauseMs: () => number,
  onFault: (error: unknown, isFirst: boolean) => void,
) {
  let isClosed = false;
  let isFailing = false;
  let timer: NodeJS.Timeout | undefined;
  const runAgain = async (): Promise<void> => {
    try {
      await run();
      isFailing = false;
    } catch (error) {
      if (!isClosed) onFault(error, !isFailing);
      isFailing = true;
    }
    if (!isClosed) timer = setTimeout(runAgain, pauseMs()).unref();
  };
  return {
    /** Resolves after the first run. Not before the caller has the repetition. */
    firstRun: Promise.resolve().then(runAgain),
    isClosed: () => isClosed,
    isFailing: () => isFailing,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
