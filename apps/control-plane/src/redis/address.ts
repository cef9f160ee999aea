/** The value of `REDIS_URL`. */
export interface StoreAddress {
  readonly kind: "single" | "sentinel" | "cluster";
  readonly tls: boolean;
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Always 0 with a cluster. */
  readonly database: number;
  /** The sentinels' name of the group of servers; empty without sentinels. */
  readonly group: string;
  /** Credentials of the sentinels themselves. */
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
}

const shape =
  /^(?<scheme>rediss?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?:(?<user>[^@/]*)@)?(?<hosts>[^@/?]+)(?:\/(?<path>[^?]*))?(?:\?(?<query>.*))?$/;

/**
 * Reads
 *
 *     redis[s]://[user:password@]host[:6379][/database]
 *     redis[s]+sentinel://[user:password@]host[:26379],host.../group[/database][?sentinel_username=&sentinel_password=]
 *     redis[s]+cluster://[user:password@]host[:6379],host...
 *
 * @throws {TypeError} that does not contain the address, which may hold a password.
 */
export function parseStoreAddress(url: string): StoreAddress {
  const parts = shape.exec(url)?.groups;
  if (parts === undefined) {
    throw new TypeError("must be redis://, rediss://, redis+sentinel:// or redis+cluster:// with at least one host");
  }
  const kind = parts.kind === "sentinel" || parts.kind === "cluster" ? parts.kind : "single";
  const [username, password] = credentials(parts.user ?? "");
  const query = new URLSearchParams(parts.query);
  const nodes = (parts.hosts ?? "").split(",").map((text) => node(text, kind === "sentinel" ? 26_379 : 6379));
  if (kind === "single" && nodes.length > 1)
    throw new TypeError("names several hosts: use redis+sentinel:// or redis+cluster://");
  return {
    kind,
    tls: parts.scheme === "rediss",
    nodes,
    username,
    password,
    ...place(kind, parts.path ?? ""),
    sentinelUsername: query.get("sentinel_username") ?? undefined,
    sentinelPassword: query.get("sentinel_password") ?? undefined,
  };
}

function credentials(text: string): [username: string | undefined, password: string | undefined] {
  const [username = "", ...rest] = text.split(":");
  const decode = (part: string) => (part === "" ? undefined : decodeURIComponent(part));
  return [decode(username), decode(rest.join(":"))];
}

function node(text: string, defaultPort: number) {
  const [, ipv6, name, digits] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = digits === undefined ? defaultPort : Number(digits);
  if (host === undefined || port < 1 || port > 65_535) throw new TypeError("has a host that is not host[:port]");
  return { host, port };
}

function place(kind: StoreAddress["kind"], path: string): Pick<StoreAddress, "group" | "database"> {
  const [group, digits, ...rest] =
    kind === "sentinel" ? path.split("/") : ["", ...(path === "" ? [] : path.split("/"))];
  if (kind === "sentinel" && !group) throw new TypeError("must name the group after the hosts, as in /mymaster");
  if (kind === "cluster" && digits !== undefined)
    throw new TypeError("a cluster has no databases: leave the path away");
  const database = digits === undefined || digits === "" ? 0 : Number(digits);
  if (rest.length > 0 || !Number.isInteger(database) || database < 0)
    throw new TypeError("has a path that is not a database number");
  return { group: group ?? "", database };
}
