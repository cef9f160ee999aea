import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector, Headers, fetch as undiciFetch } from "undici";
import { type AllowedDestination, isAdmitted } from "./allow-list.ts";
import { DiscoveryFault } from "./fault.ts";

/** Every address of a name, as `dns.promises.lookup` with `all` answers. */
export type ResolveHost = (host: string) => Promise<readonly LookupAddress[]>;

export interface GuardSettings {
  readonly allowed: readonly AllowedDestination[];
  readonly resolveHost: ResolveHost;
  /** Ends every request and connection. */
  readonly signal: AbortSignal;
}

export interface GuardedFetch {
  readonly fetch: typeof globalThis.fetch;
  close(): Promise<void>;
}

const maxAnswerBytes = 1_048_576;

/**
 * A fetch that cannot be led inside (contract: Discovery kinds): each name is resolved once, only admitted addresses of
 * it are connected to, redirects are not followed, and an answer has at most 1 MiB as it is on the wire, uncompressed.
 */
export function guardedFetch({ allowed, resolveHost, signal }: GuardSettings): GuardedFetch {
  const admitted = rememberOnce(async (host: string) => {
    const family = isIP(host);
    const addresses = family === 0 ? await resolveHost(host) : [{ address: host, family }];
    const usable = addresses.filter(({ address }) => isAdmitted(host, address, allowed));
    if (usable.length === 0) throw new DiscoveryFault("address_refused");
    return usable;
  });
  const dispatcher = new Agent({ connect: pinnedConnector(admitted), maxResponseSize: maxAnswerBytes, pipelining: 0 });
  const guarded: typeof undiciFetch = async (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("accept-encoding", "identity");
    const within = init?.signal ? AbortSignal.any([init.signal, signal]) : signal;
    const response = await undiciFetch(input, { ...init, headers, redirect: "manual", signal: within, dispatcher });
    if (response.status >= 300 && response.status < 400) throw new DiscoveryFault("redirect");
    // Decompression would undo the cap on the answer's size.
    if (response.headers.get("content-encoding") !== null) throw new DiscoveryFault("too_large");
    return response;
  };
  // undici's own types and the platform's describe one and the same API.
  return { fetch: guarded as unknown as typeof globalThis.fetch, close: () => dispatcher.destroy() };
}

type Admitted = (host: string) => Promise<readonly LookupAddress[]>;

function rememberOnce(resolve: Admitted): Admitted {
  const known = new Map<string, ReturnType<Admitted>>();
  return (host) => {
    const pinned = known.get(host) ?? resolve(host);
    known.set(host, pinned);
    return pinned;
  };
}

/** Asks before it connects: an address in a URL is never looked up, so a look-up alone would not see it. */
function pinnedConnector(admitted: Admitted): buildConnector.connector {
  const lookup: LookupFunction = (host, options, callback) => {
    admitted(host).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all) callback(null, [...addresses]);
        else if (first !== undefined) callback(null, first.address, first.family);
      },
      (error) => callback(error, ""),
    );
  };
  const connectTo = buildConnector({ lookup, autoSelectFamily: true, timeout: 5_000 });
  return (options, callback) => {
    const host = options.hostname.replace(/^\[(.*)\]$/, "$1");
    admitted(host).then(
      () => connectTo(options, callback),
      (error) => callback(error, null),
    );
  };
}
