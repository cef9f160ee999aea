import { isLoopback } from "@svc/host";

const pattern = /^(\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(?::(\d{1,5}))?$/;

/**
 * Normalizes a `Host` or URI authority: lower case, without one trailing dot and without a default port
 * (docs/reference/enforcement-point.md#finding-the-target). Undefined for anything but a host with an optional port.
 */
export function normalAuthority(text: string): string | undefined {
  const [, host, digits] = pattern.exec(text.toLowerCase()) ?? [];
  if (host === undefined) return undefined;
  if (digits === undefined) return host;
  const port = Number(digits);
  if (port === 0 || port > 65_535) return undefined;
  // The upstream's own URL decides the scheme, so both default ports mean no port.
  return port === 80 || port === 443 ? host : `${host}:${port}`;
}

/** The spellings of a listener's address that clients on this machine use. */
export function ownAuthorities(host: string, port: number): ReadonlySet<string> {
  const spelled = host.includes(":") ? `[${host}]` : host;
  return new Set([spelled, ...loopbackNames(host)].flatMap((name) => normalAuthority(`${name}:${port}`) ?? []));
}

/** A wildcard address includes loopback. At another loopback address than the listener's, another program may listen. */
function loopbackNames(host: string): readonly string[] {
  if (host === "::" || host === "localhost") return ["127.0.0.1", "[::1]", "localhost"];
  if (host === "0.0.0.0") return ["127.0.0.1", "localhost"];
  return isLoopback(host) ? ["localhost"] : [];
}

/** Of a target in absolute or authority form (RFC 9112 section 3.2), as it is spelled; undefined in any other form. */
export function authorityIn(target: string): string | undefined {
  if (target.startsWith("/") || target === "*") return undefined;
  return /^https?:\/\/([^/?#\\]+)/i.exec(target)?.[1] ?? (target.includes("/") ? undefined : target);
}
