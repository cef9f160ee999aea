/** As a shell tells the end by SIGPIPE, which Node ignores. Never 0: a gate whose report nobody read has not passed. */
const exitCode = 141;

/** `svc decisions | head -1` ends when its reader has seen enough, as any command does. */
export function endWithItsReader(stream: NodeJS.WriteStream): void {
  stream.on("error", (cause: NodeJS.ErrnoException) => {
    if (cause.code === "EPIPE") process.exit(exitCode);
    throw cause;
  });
}
