import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** A host name or an address in any of its spellings, also an IPv6 one in brackets. Of names, `localhost` alone. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  const version = isIP(name);
  // A scoped address, which BlockList refuses, is never loopback.
  if (version === 0 || name.includes("%")) return /^localhost\.?$/.test(name);
  return loopback.check(name, version === 4 ? "ipv4" : "ipv6");
}
