/** A shell's exit code for SIGPIPE, which Node ignores. Not 0: a gate whose report was not read has not passed. */
const exitCode = 141;

/** Ends the process when the reader of its output is gone, as in `svc decisions | head -1`. */
export function endWithItsReader(stream: NodeJS.WriteStream): void {
  stream.on("error", (cause: NodeJS.ErrnoException) => {
    if (cause.code === "EPIPE") process.exit(exitCode);
    throw cause;
  });
}

const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Resolves at the first signal to end; a second one ends this process at once, and its children with it. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isEnding = false;
    for (const name of stopSignals) {
      process.on(name, () => {
        if (isEnding) process.exit(1);
        isEnding = true;
        resolve(name);
      });
    }
  });
}
