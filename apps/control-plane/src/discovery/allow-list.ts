import ipaddr from "ipaddr.js";

/** What `SVC_DISCOVERY_ALLOW` admits although the rule below would not: a host by name, or a network. */
export type AllowedDestination =
  | { readonly kind: "host"; readonly host: string }
  | { readonly kind: "network"; readonly network: string; readonly prefix: number };

const hostPattern = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;
/** A URL's host that ends so is an address in disguise (WHATWG URL: ends in a number), so no name. */
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

/** As resolvers and URLs spell addresses; shorthands such as `127.1` are none. */
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
  // A mapped address reaches the IPv4 host, so a rule for that host holds for it.
  return [ipaddr.parse(address), ipaddr.process(address)].some(
    (candidate) => candidate.kind() === range.kind() && candidate.match([range, prefix]),
  );
}

const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("2000::"), 3];
/** Azure's platform server answers metadata on a public address. */
const platformServer = "168.63.129.16";

/**
 * Only what is plainly on the public Internet. Everything special is out: loopback, private, link-local and with it the
 * metadata servers, shared, reserved, multicast, and IPv6 forms that carry an IPv4 address (mapped, compatible, NAT64,
 * 6to4, Teredo).
 */
export function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast" || address === platformServer) return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(globalUnicast);
}
