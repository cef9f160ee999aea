import { normalAuthority } from "./authority.ts";
import { pairs, type RawHeaders } from "./headers.ts";

/** A call under the path prefix, where all upstreams share one origin. */
export interface PrefixedCall {
  /** The upstream's, as `/ledger`. */
  readonly prefix: string;
  /** The upstream's own origin, and the authorities that name it. */
  readonly origin: string;
  readonly hosts: readonly string[];
  /** The part of its paths that the prefix replaces. */
  readonly basePath: string;
  /** As sent, query included. */
  readonly path: string;
  /** The spellings of this listener's address. */
  readonly own: ReadonlySet<string>;
}

/**
 * An upstream's answer for an agent that called it by the path prefix: what would lead to another upstream's paths is
 * moved below its own prefix, or to its own origin (docs/reference/enforcement-point.md#answers-under-the-path-prefix).
 */
export const belowPrefix = (headers: RawHeaders, call: PrefixedCall): string[] =>
  pairs(headers).flatMap(([name, value]) => {
    const rewrite = rewrites.get(name.toLowerCase());
    const rewritten = rewrite ? rewrite(value, call) : value;
    return rewritten === undefined ? [] : [name, rewritten];
  });

type Rewrite = (value: string, call: PrefixedCall) => string | undefined;

/** They change how a client treats every path of the origin. */
const ofWholeOrigin: Rewrite = () => undefined;

const rewrites: ReadonlyMap<string, Rewrite> = new Map<string, Rewrite>([
  ["location", placedUrl],
  ["content-location", placedUrl],
  ["refresh", placedRefresh],
  ["link", placedLinks],
  ["set-cookie", placedCookie],
  ["set-cookie2", ofWholeOrigin],
  ["clear-site-data", ofWholeOrigin],
  ["service-worker-allowed", ofWholeOrigin],
]);

/** Undefined for what is no URL: clients would read it differently. */
function placedUrl(value: string, { prefix, origin, hosts, basePath, path, own }: PrefixedCall): string | undefined {
  const text = Buffer.from(value, "latin1").toString("utf8");
  const url = URL.parse(text, origin + path);
  if (!url) return undefined;
  const rest = url.search + url.hash;
  const authority = /^https?:$/.test(url.protocol) ? normalAuthority(url.host) : undefined;
  if (authority !== undefined && own.has(authority)) {
    return (isBelow(url.pathname, prefix) ? url.pathname : prefix + url.pathname) + rest;
  }
  const isUpstream = url.origin === origin || (authority !== undefined && hosts.includes(authority));
  if (isUpstream && isBelow(url.pathname, basePath)) return prefix + url.pathname.slice(basePath.length) + rest;
  return url.href === `${text}/` ? text : url.href;
}

/** `5; url=/next` (HTML standard: the Refresh header). */
function placedRefresh(value: string, call: PrefixedCall): string | undefined {
  if (/^\s*[\d.]+\s*$/.test(value)) return value;
  const [, seconds, target] = /^\s*([\d.]+)\s*[;,]\s*(?:url\s*=\s*)?["']?(.*?)["']?\s*$/i.exec(value) ?? [];
  const placed = target === undefined ? undefined : placedUrl(target, call);
  return placed === undefined ? undefined : `${seconds}; url=${placed}`;
}

/** RFC 8288: each target is in angle brackets. */
function placedLinks(value: string, call: PrefixedCall): string | undefined {
  let isReadable = true;
  const placed = value.replace(/<([^>]*)>/g, (_, target: string) => {
    const url = placedUrl(target, call);
    isReadable &&= url !== undefined;
    return `<${url}>`;
  });
  return isReadable ? placed : undefined;
}

/** With a path of its own, since the path that clients derive may be the root; and for this host alone. */
function placedCookie(value: string, { prefix, basePath, path }: PrefixedCall): string {
  const [pair = "", ...attributes] = value.split(";");
  const kept = attributes.filter((attribute) => !/^\s*(?:path|domain)\s*(?:=|$)/i.test(attribute));
  const paths = attributes.flatMap((attribute) => /^\s*path\s*=\s*(.*?)\s*$/i.exec(attribute)?.[1] ?? []);
  const named = paths.at(-1) ?? "";
  const own = named.startsWith("/") ? named : defaultCookiePath(path);
  return [pair, ...kept, ` Path=${placedCookiePath(own, prefix, basePath)}`].join(";");
}

/** RFC 6265 section 5.1.4. */
function defaultCookiePath(path: string): string {
  const [withoutQuery = ""] = path.split("?");
  return withoutQuery.slice(0, Math.max(1, withoutQuery.lastIndexOf("/")));
}

function placedCookiePath(path: string, prefix: string, basePath: string): string {
  const isWhole = path === `${basePath}/` || isBelow(basePath, path.replace(/\/$/, ""));
  if (isWhole) return prefix;
  return prefix + (isBelow(path, basePath) ? path.slice(basePath.length) : path);
}

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
