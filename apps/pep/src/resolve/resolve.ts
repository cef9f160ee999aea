import { normalAuthority } from "../message/authority.ts";
import { isPlainQuery, isUnambiguousPath } from "../message/path.ts";
import type { CallTarget } from "../protocols/protocol.ts";
import type { Upstream, Upstreams } from "../upstreams/upstream.ts";

/** The request line and `Host`, exactly as received. */
export interface RequestLine {
  readonly method: string;
  /** RFC 9112 section 3.2: origin-form, absolute-form, authority-form or `*`. */
  readonly target: string;
  /** Every `Host` value, in order. */
  readonly hosts: readonly string[];
  /** How this listener's own address may be spelled. */
  readonly own: ReadonlySet<string>;
}

/** `path` is sent upstream, query included: the exact bytes that were decided on. */
export type Resolved = { readonly upstream: Upstream; readonly path: string } & (
  | { readonly kind: "call"; readonly call: CallTarget }
  /** `message`: the body names the call. `unmapped`: the configuration names no call. */
  | { readonly kind: "message" | "unmapped" }
);

/** `unresolvable`: servers could read the request differently, or no upstream has its host. Never forwarded, in no mode. */
export type Resolution = Resolved | { readonly kind: "unresolvable" };

export const unresolvable = { kind: "unresolvable" } as const;

/** Maps a request to upstream, target and data class (docs/reference/enforcement-point.md#finding-the-target). Pure. */
export function resolve(upstreams: Upstreams, line: RequestLine): Resolution {
  const place = placeOf(upstreams, line);
  if (place === undefined || line.method === "TRACE" || line.method === "CONNECT") return unresolvable;
  const { upstream, relativePath, path } = place;
  const found = relativePath === undefined ? "unmapped" : upstream.protocol.resolve(line.method, relativePath);
  if (found === "ambiguous") return unresolvable;
  return typeof found === "string" ? { kind: found, upstream, path } : { kind: "call", upstream, path, call: found };
}

/** WebSocket handshakes: unresolvable where the upstream's protocol has none. */
export function resolveUpgrade(upstreams: Upstreams, line: RequestLine): Resolution {
  const resolution = resolve(upstreams, line);
  return resolution.kind !== "unresolvable" && resolution.upstream.protocol.takesUpgrades ? resolution : unresolvable;
}

/** CONNECT: the upstream with this authority, where a route allows tunnels to it (RFC 9110 section 9.3.6). */
export function resolveTunnel(upstreams: Upstreams, authority: string): Resolution {
  const upstream = upstreams.byHost.get(normalAuthority(authority) ?? "");
  return upstream?.tunnel ? { kind: "call", upstream, path: "", call: upstream.tunnel } : unresolvable;
}

interface Place {
  readonly upstream: Upstream;
  /** Relative to the upstream's URL; undefined outside of it. */
  readonly relativePath: string | undefined;
  readonly path: string;
}

function placeOf(upstreams: Upstreams, { target, hosts, own }: RequestLine): Place | undefined {
  // A second Host is read differently by different servers (RFC 9112 section 3.2).
  if (hosts.length > 1) return undefined;
  const parts = targetParts(target);
  if (!parts || !isUnambiguousPath(parts.path) || !isPlainQuery(parts.query)) return undefined;
  const authority = normalAuthority(parts.authority ?? hosts[0] ?? "");
  if (authority === undefined) return undefined;
  const listed = upstreams.byHost.get(authority);
  if (listed) return placeUnderHost(listed, parts);
  return parts.authority === undefined && own.has(authority) ? placeUnderPrefix(upstreams, parts) : undefined;
}

interface TargetParts {
  readonly authority?: string;
  readonly path: string;
  /** With its question mark; empty where there is none. */
  readonly query: string;
}

const absoluteForm = /^https?:\/\/([^/?#\\]+)(.*)$/i;

function targetParts(target: string): TargetParts | undefined {
  if (target.startsWith("/")) return splitQuery(target);
  const [, authority, rest = ""] = absoluteForm.exec(target) ?? [];
  if (authority === undefined) return undefined;
  // An absolute-form target without a path means the root (RFC 9112 section 3.2.1).
  return { authority, ...splitQuery(rest.startsWith("/") ? rest : `/${rest}`) };
}

function splitQuery(text: string): { path: string; query: string } {
  const mark = text.indexOf("?");
  return mark === -1 ? { path: text, query: "" } : { path: text.slice(0, mark), query: text.slice(mark) };
}

/** Forward-proxy and transparent use: the path is the upstream's own. */
function placeUnderHost(upstream: Upstream, { path, query }: TargetParts): Place {
  const { basePath } = upstream.protocol;
  const isUnder = path === basePath || path.startsWith(`${basePath}/`);
  return { upstream, relativePath: isUnder ? path.slice(basePath.length) : undefined, path: path + query };
}

/** The first segment names the upstream; what follows is appended to its URL. */
function placeUnderPrefix(upstreams: Upstreams, { path, query }: TargetParts): Place | undefined {
  const end = path.indexOf("/", 1);
  const upstream = upstreams.byName.get(end === -1 ? path.slice(1) : path.slice(1, end));
  if (!upstream) return undefined;
  const rest = end === -1 ? "" : path.slice(end);
  const { basePath } = upstream.protocol;
  const sent = basePath + rest || "/";
  return { upstream, relativePath: sent.slice(basePath.length), path: sent + query };
}
