import ipaddr from "ipaddr.js";

/** An entry of `SVC_DISCOVERY_ALLOW`, which admits what `isPublic` refuses. */
export type AllowedDestination =
  | { readonly kind: "host"; readonly host: string }
  | { readonly kind: "network"; readonly network: string; readonly prefix: number };

const hostPattern = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;
/** Such a host is an address, not a name (WHATWG URL: ends in a number). */
const endsInNumber = /(^|\.)(\d+|0x[0-9a-f]*)$/;

/** Reads a host, an address or a CIDR; undefined for anything else. */
export function parseAllowedDestination(entry: string): AllowedDestination | undefined {
  const text = entry.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  const [base = ""] = text.split("/");
  if (ipaddr.isValidCIDR(text) && isAddress(base)) {
    const [address, prefix] = ipaddr.parseCIDR(text);
    return { kind: "network", network: address.toString(), prefix };
  }
  if (isAddress(text)) return { kind: "network", network: text, prefix: text.includes(":") ? 128 : 32 };
  const host = text.replace(/\.$/, "");
  return hostPattern.test(host) && !endsInNumber.test(host) ? { kind: "host", host } : undefined;
}

/** In the spelling of resolvers and URLs, without shorthands such as `127.1`. */
export const isAddress = (text: string): boolean =>
  ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);

/** Whether discovery may connect to `address`, which `host` resolved to. */
export const isAdmitted = (host: string, address: string, allowed: readonly AllowedDestination[]): boolean =>
  isPublic(address) || allowed.some((destination) => covers(destination, host, address));

const covers = (destination: AllowedDestination, host: string, address: string): boolean =>
  destination.kind === "host"
    ? destination.host === host.toLowerCase().replace(/\.$/, "")
    : inNetwork(address, destination);

function inNetwork(address: string, { network, prefix }: Extract<AllowedDestination, { kind: "network" }>): boolean {
  const range = ipaddr.parse(network);
  // A mapped address reaches the IPv4 host, so rules for that host apply to it.
  return [ipaddr.parse(address), ipaddr.process(address)].some(
    (candidate) => candidate.kind() === range.kind() && candidate.match([range, prefix]),
  );
}

const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("2000::"), 3];
/** Azure serves metadata at a public address. */
const platformServer = "168.63.129.16";

/**
 * Only addresses of the public Internet: not loopback, private, link-local (metadata servers), shared, reserved,
 * multicast, or IPv6 forms with an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo).
 */
export function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast" || address === platformServer) return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(globalUnicast);
}
