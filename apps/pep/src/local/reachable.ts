import { lookup } from "node:dns/promises";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";

/** A host name or an address without brackets, and a port. */
export interface Place {
  readonly hostname: string;
  readonly port: number;
}

export interface ClosedPlaces {
  /** Ports of this process, at every address of this machine. */
  readonly ownPorts: () => readonly number[];
  /** By name, by address, and on this machine by port at every address. */
  readonly controlPlane: Place;
  /** The addresses of upstreams: by name, and on this machine by port. Elsewhere other hosts may share an address. */
  readonly upstreams: () => readonly Place[];
}

/** Where a connection may go: the addresses that were checked, and no other that the name may have a moment later. */
export type Reach = { readonly lookup: LookupFunction } | "closed" | "unknown";

export type Reachable = (place: Place) => Promise<Reach>;

/**
 * Judges where the agent may be connected to: never to this process, the control plane, or an upstream past its
 * decisions (docs/reference/enforcement-point.md#other-hosts).
 */
export const createReachable =
  ({ ownPorts, controlPlane, upstreams }: ClosedPlaces): Reachable =>
  async (place) => {
    if ([controlPlane, ...upstreams()].some((closed) => isSame(closed, place))) return "closed";
    const addresses = await addressesOf(place.hostname);
    if (addresses.length === 0) return "unknown";
    const isAmong = (list: BlockList) => addresses.some((address) => isIn(list, address));
    const ofControlPlane = place.port === controlPlane.port ? await addressesOf(controlPlane.hostname) : [];
    if (isAmong(listOf(ofControlPlane))) return "closed";
    const local = localAddresses();
    if (isAmong(local)) {
      const others = upstreams().filter(({ port }) => port === place.port);
      const theirs = await Promise.all(others.map(({ hostname }) => addressesOf(hostname)));
      const isLocal = [...ofControlPlane, ...theirs.flat()].some((address) => isIn(local, address));
      if (isLocal || ownPorts().includes(place.port)) return "closed";
    }
    return { lookup: pinned(addresses) };
  };

const isSame = (closed: Place, { hostname, port }: Place): boolean =>
  closed.port === port && closed.hostname.toLowerCase() === hostname.toLowerCase();

async function addressesOf(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

/** Every address of this machine: loopback, those of its interfaces, and the unspecified one, which leads here too. */
function localAddresses(): BlockList {
  const interfaces = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const local = listOf(["::1", "::", ...interfaces.map(({ address }) => address)]);
  local.addSubnet("127.0.0.0", 8, "ipv4");
  local.addSubnet("0.0.0.0", 8, "ipv4");
  return local;
}

/** Finds an IPv4 address in its spelling for IPv6 too. */
function listOf(addresses: readonly string[]): BlockList {
  const list = new BlockList();
  for (const address of addresses) list.addAddress(...withoutZone(address));
  return list;
}

const isIn = (list: BlockList, address: string): boolean => list.check(...withoutZone(address));

function withoutZone(address: string): [address: string, family: "ipv4" | "ipv6"] {
  const [plain = ""] = address.split("%");
  return [plain, isIP(plain) === 6 ? "ipv6" : "ipv4"];
}

const pinned =
  (addresses: readonly string[]): LookupFunction =>
  (_hostname, { all }, found) => {
    const checked = addresses.map((address) => ({ address, family: isIP(address) }));
    const [first] = checked;
    if (all) found(null, checked);
    else found(null, first?.address ?? "", first?.family);
  };
