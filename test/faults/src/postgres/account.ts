/** PostgreSQL refuses to run as root; Debian's package brings the account it runs as. */
const account = "postgres";

/** A command line that runs as the server's account; `setpriv` execs the program, so the pid is the program's. */
export const asServer = (program: string, args: readonly string[]): readonly [string, readonly string[]] =>
  process.getuid?.() === 0
    ? ["setpriv", [`--reuid=${account}`, `--regid=${account}`, "--clear-groups", program, ...args]]
    : [program, args];
