import { protocolDataClass } from "@svc/core";
import { normalAuthority } from "../message/authority.ts";
import { isPlainQuery, isUnambiguousPath } from "../message/path.ts";
import { type CallTarget, matchRoute } from "../protocols/routes.ts";
import type { HttpUpstream, McpUpstream, Upstream, Upstreams } from "../upstreams/upstream.ts";

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

/** `path` is what is sent upstream, query included: the very bytes that were decided on. */
export type Resolution =
  | { readonly kind: "call"; readonly upstream: Upstream; readonly path: string; readonly call: CallTarget }
  /** An MCP message: what is called stands in its body. */
  | { readonly kind: "message"; readonly upstream: McpUpstream; readonly path: string }
  /** It is plain where the request would go, and nothing says what it would be. */
  | { readonly kind: "unmapped"; readonly upstream: Upstream; readonly path: string }
  /** Nobody can say for sure where it would go. Never forwarded, in no mode. */
  | { readonly kind: "unresolvable" };

const unresolvable = { kind: "unresolvable" } as const;

/** Request to upstream, target and data class (contract: How a call finds its target). Pure. */
export function resolve(upstreams: Upstreams, line: RequestLine): Resolution {
  const place = placeOf(upstreams, line);
  if (place === undefined || line.method === "TRACE" || line.method === "CONNECT") return unresolvable;
  return place.upstream.protocol === "http"
    ? resolveHttp(place.upstream, place, line.method)
    : resolveMcp(place.upstream, place, line.method);
}

/** CONNECT: the upstream whose tunnel this is, if a route admits one (RFC 9110 section 9.3.6). */
export function resolveTunnel(
  upstreams: Upstreams,
  authority: string,
): { upstream: Upstream; call: CallTarget } | undefined {
  const upstream = upstreams.byHost.get(normalAuthority(authority) ?? "");
  return upstream?.tunnel && { upstream, call: upstream.tunnel };
}

interface Place {
  readonly upstream: Upstream;
  /** As the routes see it: relative to the upstream's URL. Undefined where it does not lie under it. */
  readonly relativePath: string | undefined;
  readonly sentPath: string;
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

/** The agent believes that it talks to the upstream itself: the path is the upstream's own. */
function placeUnderHost(upstream: Upstream, { path, query }: TargetParts): Place {
  const { basePath } = upstream;
  const isUnder = path === basePath || path.startsWith(`${basePath}/`);
  return { upstream, relativePath: isUnder ? path.slice(basePath.length) : undefined, sentPath: path + query };
}

/** The first segment names the upstream; what follows is appended to its URL. */
function placeUnderPrefix(upstreams: Upstreams, { path, query }: TargetParts): Place | undefined {
  const end = path.indexOf("/", 1);
  const upstream = upstreams.byName.get(end === -1 ? path.slice(1) : path.slice(1, end));
  if (!upstream) return undefined;
  const rest = end === -1 ? "" : path.slice(end);
  const sent = upstream.basePath + rest || "/";
  return { upstream, relativePath: sent.slice(upstream.basePath.length), sentPath: sent + query };
}

function resolveHttp(upstream: HttpUpstream, { relativePath, sentPath: path }: Place, method: string): Resolution {
  const route = relativePath === undefined ? undefined : matchRoute(upstream.routes, method, relativePath);
  if (route === "ambiguous") return unresolvable;
  return route ? { kind: "call", upstream, path, call: route.call } : { kind: "unmapped", upstream, path };
}

function resolveMcp(upstream: McpUpstream, { relativePath, sentPath: path }: Place, method: string): Resolution {
  const isEndpoint = relativePath === (upstream.basePath === "" ? "/" : "");
  if (isEndpoint && method === "POST") return { kind: "message", upstream, path };
  if (isEndpoint && (method === "GET" || method === "DELETE")) {
    return { kind: "call", upstream, path, call: protocolCall(upstream) };
  }
  return { kind: "unmapped", upstream, path };
}

/** The implicit tool that covers a session's own methods (contract: Compiler). */
export const protocolCall = (upstream: McpUpstream): CallTarget => ({
  target: `mcp:${upstream.name}`,
  targetKind: "tool",
  dataClass: protocolDataClass,
});
