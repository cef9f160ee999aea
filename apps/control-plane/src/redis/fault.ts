import { ErrorReply } from "@redis/client";
import { GuardUnavailable } from "../ports/replay-guard.ts";

/** Its message is one line with what to change, and holds no value of the setting. */
export class StoreFault extends GuardUnavailable {
  readonly what: string;
  readonly remedy: string;

  constructor(what: string, remedy: string, cause: unknown) {
    super(`REDIS_URL: ${what}. ${remedy}`, { cause });
    this.what = what;
    this.remedy = remedy;
  }
}

// The class is logged (docs/guides/operations.md#what-a-failure-looks-like).
class StoreSilent extends StoreFault {}
class StoreIsClusterNode extends StoreFault {}
class StoreDeniesCommand extends StoreFault {}
class StoreRefusesLogin extends StoreFault {}
class StoreIsReplica extends StoreFault {}
class StoreIsFull extends StoreFault {}
class StoreIsUntrusted extends StoreFault {}

const guide = "docs/guides/operations.md#redis";

/** By the first words of a reply, or by the code of a connection's fault. */
const faults: readonly (readonly [RegExp, typeof StoreFault, what: string, remedy: string])[] = [
  [
    /^MOVED/,
    StoreIsClusterNode,
    "it is one node of a cluster, which refuses most keys",
    "Write the address as redis+cluster:// or rediss+cluster://.",
  ],
  [
    /^NOPERM|^ERR (?:ACL failure|The user executing the script)/,
    StoreDeniesCommand,
    "its user may not run a command or use a key of the service",
    `Give it the rights that ${guide} lists.`,
  ],
  [/^(?:WRONGPASS|NOAUTH|ERR AUTH)/, StoreRefusesLogin, "the server refuses user or password", "Check both."],
  [
    /^READONLY/,
    StoreIsReplica,
    "it is a replica, which takes no writes",
    "Name the primary, or use redis+sentinel://.",
  ],
  [/^OOM/, StoreIsFull, "its memory is full", "Raise maxmemory: the guard's entries expire after minutes."],
  [
    /CERT|SIGNATURE|_TLS_|_SSL_/,
    StoreIsUntrusted,
    "its certificate is not trusted",
    "Name its authority's file in NODE_EXTRA_CA_CERTS, and the host as the certificate does.",
  ],
];

/** What a command or a connection failed with. */
export function storeFault(cause: unknown): StoreFault {
  const { message, code = "" } = (cause instanceof Error ? cause : new Error(String(cause))) as NodeJS.ErrnoException;
  const known = faults.find(([pattern]) => pattern.test(message) || pattern.test(code));
  if (known !== undefined) {
    const [, Fault, what, remedy] = known;
    return new Fault(what, remedy, cause);
  }
  const reason = isReply(cause) ? message.split(" ")[0] : code || message;
  return new StoreSilent(`it does not serve (${reason})`, "Check host and port, and that it runs.", cause);
}

/** The server answered: its connection works. */
export const isReply = (cause: unknown): boolean => cause instanceof ErrorReply;
