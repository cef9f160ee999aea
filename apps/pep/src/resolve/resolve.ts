import { isUnambiguousPath } from "@svc/classify";
import { normalAuthority } from "../message/authority.ts";
import { isPlainQuery } from "../message/path.ts";
import { blockedFor, type UnresolvedCall } from "../protocols/blocks.ts";
import type { CallTarget, ReadCall } from "../protocols/protocol.ts";
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
  /** Of a request in a terminated tunnel: the CONNECT authority, in normal spelling. */
  readonly tunnel?: string | undefined;
}

/** `path` is sent upstream, query included: the exact bytes that were decided on. */
export type Resolved = {
  readonly upstream: Upstream;
  readonly path: string;
  /** The first segment, where it named the upstream: `/ledger`. */
  readonly prefix?: string | undefined;
} & (
  | { readonly kind: "call"; readonly call: CallTarget }
  /** `message`: the body names the call, or its data class. */
  | { readonly kind: "message"; readonly readCall: ReadCall }
  /** The configuration names no call. */
  | { readonly kind: "unmapped" }
);

/** `unresolvable`: servers could read the request differently, or no upstream has its host. Never forwarded, in no mode. */
export type Resolution = Resolved | Unresolvable;

export interface Unresolvable {
  readonly kind: "unresolvable";
  readonly why: UnresolvedCall;
}

const unresolvableFor = (...why: Parameters<typeof blockedFor>): Unresolvable => ({
  kind: "unresolvable",
  why: blockedFor(...why),
});

export const unresolvable = unresolvableFor("unsupported");

const noUpstream = ({ all }: Upstreams): Unresolvable => unresolvableFor("no_upstream", { upstreams: namesOf(all) });
const unlistedHost = ({ all }: Upstreams): Unresolvable =>
  unresolvableFor("unlisted_host", { upstreams: namesOf(all) });

const maxNames = 20;

function namesOf(all: readonly Upstream[]): string {
  const names = all.slice(0, maxNames).map(({ name }) => name);
  return names.length === 0 ? "none" : [...names, ...(all.length > maxNames ? ["..."] : [])].join(", ");
}

/** Maps a request to upstream, target and data class (docs/reference/enforcement-point.md#finding-the-target). Pure. */
export function resolve(upstreams: Upstreams, line: RequestLine): Resolution {
  const place = placeOf(upstreams, line);
  if (line.method === "TRACE" || line.method === "CONNECT") return unresolvable;
  if ("kind" in place) return place;
  const { relativePath, query, ...named } = place;
  const { protocol } = named.upstream;
  const found = relativePath === undefined ? "unmapped" : protocol.resolve(line.method, relativePath, query.slice(1));
  if (found === "unmapped") return { kind: found, ...named };
  if (found === "message") return { kind: found, ...named, readCall: protocol.readCall };
  if ("ambiguous" in found) return unresolvableFor("ambiguous_path", { routes: found.ambiguous });
  if ("readCall" in found) return { kind: "message", ...named, readCall: found.readCall };
  return { kind: "call", ...named, call: found };
}

/** WebSocket handshakes: unmapped where the upstream's protocol has none. */
export function resolveUpgrade(upstreams: Upstreams, line: RequestLine): Resolution {
  const resolution = resolve(upstreams, line);
  if (resolution.kind === "unresolvable" || resolution.upstream.protocol.takesUpgrades) return resolution;
  const { upstream, path } = resolution;
  return { kind: "unmapped", upstream, path };
}

/** CONNECT: the upstream with this authority, where a route allows tunnels to it (RFC 9110 section 9.3.6). */
export function resolveTunnel(upstreams: Upstreams, authority: string): Resolution {
  const upstream = upstreams.byHost.get(normalAuthority(authority) ?? "");
  if (!upstream) return unlistedHost(upstreams);
  const { tunnel } = upstream;
  return tunnel ? { kind: "call", upstream, path: "", call: tunnel } : { kind: "unmapped", upstream, path: "" };
}

interface Place {
  readonly upstream: Upstream;
  /** Relative to the upstream's URL; undefined outside of it. */
  readonly relativePath: string | undefined;
  /** With its question mark; empty where there is none. */
  readonly query: string;
  readonly path: string;
  readonly prefix?: string;
}

function placeOf(upstreams: Upstreams, { target, hosts, own, tunnel }: RequestLine): Place | Unresolvable {
  // A second Host is read differently by different servers (RFC 9112 section 3.2).
  if (hosts.length > 1) return unresolvableFor("no_authority");
  const parts = targetParts(target);
  if (!parts) return unresolvableFor("no_authority");
  if (!isUnambiguousPath(parts.path) || !isPlainQuery(parts.query)) return unresolvableFor("odd_path");
  const authority = normalAuthority(parts.authority ?? hosts[0] ?? "");
  if (authority === undefined) return unresolvableFor("no_authority");
  const isElsewhere = (host: string) => normalAuthority(host) !== tunnel;
  if (tunnel !== undefined && [authority, ...hosts].some(isElsewhere)) return unresolvableFor("other_host");
  const listed = upstreams.byHost.get(authority);
  if (listed) return placeUnderHost(listed, parts);
  return parts.authority === undefined && own.has(authority)
    ? placeUnderPrefix(upstreams, parts)
    : unlistedHost(upstreams);
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
  return { upstream, relativePath: isUnder ? path.slice(basePath.length) : undefined, query, path: path + query };
}

/** The first segment names the upstream; what follows is appended to its URL. */
function placeUnderPrefix(upstreams: Upstreams, { path, query }: TargetParts): Place | Unresolvable {
  const end = path.indexOf("/", 1);
  const prefix = end === -1 ? path : path.slice(0, end);
  const upstream = upstreams.byName.get(prefix.slice(1));
  if (!upstream) return noUpstream(upstreams);
  const { basePath } = upstream.protocol;
  const sent = basePath + path.slice(prefix.length) || "/";
  return { upstream, relativePath: sent.slice(basePath.length), query, path: sent + query, prefix };
}
