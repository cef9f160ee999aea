/**
 * Calls `run` now, and again after each pause in milliseconds. `onFault` gets what it throws before the close: each
 * fault, or the first after a run that succeeded.
 */
export function repeat(
  run: () => Promise<void>,
  pauseMs: () => number,
  onFault: (error: unknown) => void,
  reports: "each" | "first",
) {
  let isClosed = false;
  let isFailing = false;
  let timer: NodeJS.Timeout | undefined;
  const runAgain = async (): Promise<void> => {
    try {
      await run();
      isFailing = false;
    } catch (error) {
      if (!isClosed && (reports === "each" || !isFailing)) onFault(error);
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
