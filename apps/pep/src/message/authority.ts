const pattern = /^(\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(?::(\d{1,5}))?$/;

/**
 * The one spelling of a `Host` or URI authority: lower case, without one trailing dot and without a default port
 * (contract: How a call finds its target). Undefined for anything that is no host with an optional port, user
 * information included.
 */
export function normalAuthority(text: string): string | undefined {
  const [, host, digits] = pattern.exec(text.toLowerCase()) ?? [];
  if (host === undefined) return undefined;
  if (digits === undefined) return host;
  const port = Number(digits);
  if (port === 0 || port > 65_535) return undefined;
  // Neither says anything about the scheme here: the upstream's own URL decides how it is reached.
  return port === 80 || port === 443 ? host : `${host}:${port}`;
}

/** How a client on this machine may spell the address of a listener bound to `host`. */
export function ownAuthorities(host: string, port: number): ReadonlySet<string> {
  const spelled = host.includes(":") ? `[${host}]` : host;
  const loopback = isLoopback(host) ? ["localhost"] : [];
  return new Set([spelled, ...loopback].flatMap((name) => normalAuthority(`${name}:${port}`) ?? []));
}

/** A host name or an address, an IPv6 one without its brackets. */
export const isLoopback = (host: string): boolean =>
  host === "::1" || host === "localhost" || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(host);
