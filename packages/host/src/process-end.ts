/** A shell's exit code for SIGPIPE, which Node ignores. Not 0: a gate whose report was not read has not passed. */
const exitCode = 141;

/**
 * Ends the process when its output cannot be written: silently when the reader is gone, as in `svc decisions | head -1`,
 * else with the error, as on a full disk.
 */
export function endWithItsReader(stream: NodeJS.WriteStream): void {
  stream.on("error", (cause: NodeJS.ErrnoException) => {
    if (cause.code === "EPIPE") process.exit(exitCode);
    process.stderr.write(`error: the output cannot be written: ${cause.message}\nCheck where it is sent.\n`);
    process.exit(1);
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
