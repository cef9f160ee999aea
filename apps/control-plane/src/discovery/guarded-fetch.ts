import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import {
  Agent,
  buildConnector,
  Headers,
  type RequestInit as UndiciRequestInit,
  type Response as UndiciResponse,
  fetch as undiciFetch,
} from "undici";
import { type AllowedDestination, isAdmitted } from "./allow-list.ts";
import { DiscoveryFault, faultBehind } from "./fault.ts";

/** Every address of a name, as `dns.promises.lookup` with `all` answers. */
export type ResolveHost = (host: string) => Promise<readonly LookupAddress[]>;

export interface GuardSettings {
  readonly allowed: readonly AllowedDestination[];
  /** Values of `Authorization`, by the origin that receives them. */
  readonly credentials: ReadonlyMap<string, string>;
  readonly resolveHost: ResolveHost;
  /** Ends every request and connection. */
  readonly signal: AbortSignal;
}

export interface GuardedFetch {
  /** Rejects with a DiscoveryFault. */
  readonly fetch: typeof globalThis.fetch;
  /** Rejects with the first fault, even if a client on top of `fetch` hides it. Never resolves. */
  readonly failed: Promise<never>;
  close(): Promise<void>;
}

const maxAnswerBytes = 1_048_576;

/**
 * A fetch that cannot reach internal hosts (docs/reference/manifest.md#discovery-sources). It resolves each name once,
 * connects to admitted addresses only, follows no redirect, and reads at most 1 MiB.
 */
export function guardedFetch({ allowed, credentials, resolveHost, signal }: GuardSettings): GuardedFetch {
  const failure = Promise.withResolvers<never>();
  // Without a handler a rejection would end the process.
  failure.promise.catch(() => {});
  const fail = (error: unknown): DiscoveryFault => {
    const kind = signal.aborted ? "timeout" : "unreachable";
    const fault = faultBehind(error) ?? new DiscoveryFault(kind, { cause: error });
    failure.reject(fault);
    return fault;
  };
  signal.addEventListener("abort", () => fail(signal.reason), { once: true });
  const dispatcher = new Agent({ connect: pinnedConnector(admittedAddresses(allowed, resolveHost)), pipelining: 0 });
  const guarded = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    try {
      const response = await send(input, init, { credentials, signal, dispatcher });
      return limited(response, fail);
    } catch (error) {
      throw fail(error);
    }
  };
  // Every caller here passes a URL and the platform's own options.
  return { fetch: guarded as typeof globalThis.fetch, failed: failure.promise, close: () => dispatcher.destroy() };
}

async function send(
  input: string | URL,
  init: RequestInit,
  { credentials, signal, dispatcher }: Pick<GuardSettings, "credentials" | "signal"> & { readonly dispatcher: Agent },
) {
  const headers = new Headers(init.headers as ConstructorParameters<typeof Headers>[0]);
  headers.set("accept-encoding", "identity");
  const credential = credentials.get(new URL(input).origin);
  if (credential !== undefined) headers.set("authorization", credential);
  const within = init.signal ? AbortSignal.any([init.signal, signal]) : signal;
  const options = { ...init, headers, redirect: "manual", signal: within, dispatcher } as UndiciRequestInit;
  const response = await undiciFetch(input, options);
  if (response.status >= 300 && response.status < 400) throw new DiscoveryFault("redirect");
  // A small compressed answer could expand without end.
  if (response.headers.get("content-encoding") !== null) throw new DiscoveryFault("too_large");
  return response;
}

/** The same answer, cut at the cap. */
function limited({ body, status, headers }: UndiciResponse, fail: (error: unknown) => DiscoveryFault): Response {
  let received = 0;
  const counted = body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        received += chunk.byteLength;
        if (received > maxAnswerBytes) controller.error(fail(new DiscoveryFault("too_large")));
        else controller.enqueue(chunk);
      },
    }),
  );
  return new Response(counted ?? null, { status, headers: [...headers] });
}

type Admitted = (host: string) => Promise<readonly LookupAddress[]>;

/** Resolves each name once. */
function admittedAddresses(allowed: readonly AllowedDestination[], resolveHost: ResolveHost): Admitted {
  const pinned = new Map<string, ReturnType<Admitted>>();
  const resolve: Admitted = async (host) => {
    const family = isIP(host);
    const addresses = family === 0 ? await resolveHost(host) : [{ address: host, family }];
    const usable = addresses.filter(({ address }) => isAdmitted(host, address, allowed));
    if (usable.length === 0) throw new DiscoveryFault("address_refused");
    return usable;
  };
  return (host) => {
    const addresses = pinned.get(host) ?? resolve(host);
    pinned.set(host, addresses);
    return addresses;
  };
}

/** Checks the host before it connects, since an address in a URL is never looked up. */
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
