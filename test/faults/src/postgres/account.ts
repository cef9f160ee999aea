/** PostgreSQL refuses to run as root; Debian's package brings the account it runs as instead. */
const account = "postgres";

/** A command line that runs as the server's account; `setpriv` becomes the program, so its process number is the program's. */
export const asServer = (program: string, args: readonly string[]): readonly [string, readonly string[]] =>
  process.getuid?.() === 0
    ? ["setpriv", [`--reuid=${account}`, `--regid=${account}`, "--clear-groups", program, ...args]]
    : [program, args];
