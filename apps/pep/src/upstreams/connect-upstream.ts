import type { Environment, ListenAddress } from "@svc/host";
import { type Dispatcher, EnvHttpProxyAgent, Pool } from "undici";
import { normalAuthority, ownAuthorities } from "../message/authority.ts";
import { recordOf } from "../message/headers.ts";
import type { Upstream } from "./upstream.ts";

export interface UpstreamConnections extends Pick<Dispatcher, "dispatch"> {
  destroy(): Promise<void>;
}

export type Connect = (upstream: Pick<Upstream, "origin" | "tls" | "stdio">) => UpstreamConnections;

const maxHeaderBytes = 32 * 1024;
const connectTimeoutMs = 10_000;

/** Keep-alive connections with TLS from here, through a proxy if one is set. The limiter bounds calls in flight. */
export const connectUpstreams =
  (proxies: EgressProxies | undefined, connectMs = connectTimeoutMs) =>
  ({ origin, tls }: Pick<Upstream, "origin" | "tls">): UpstreamConnections => {
    const toUpstream = { ...tls, timeout: connectMs };
    const options = { allowH2: false, pipelining: 1, maxHeaderSize: maxHeaderBytes, connect: toUpstream };
    if (!proxies) return new Pool(origin, options);
    const agent = new EnvHttpProxyAgent({
      ...options,
      ...proxies,
      requestTls: toUpstream,
      proxyTls: { timeout: connectMs },
      // Bounds a proxy that accepts the connection and then sends nothing.
      clientFactory: (proxy, given) => new Pool(proxy, { ...given, headersTimeout: connectMs }),
    });
    return {
      // Of repeated headers in a list the proxy agent keeps only the last.
      dispatch: (request, handler) =>
        agent.dispatch({ ...request, origin, headers: recordOf(listOf(request)) }, handler),
      destroy: () => agent.destroy(),
    };
  };

const listOf = ({ headers }: Dispatcher.DispatchOptions): string[] =>
  Array.isArray(headers) ? headers.map(String) : [];

/** Proxies to upstreams; empty for none. Their URLs may contain a password, so no message shows them. */
export interface EgressProxies {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  readonly noProxy: string;
}

/**
 * Reads `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, the lower-case spelling first; no `proxies` where none is named.
 * The same variables may direct an agent to this enforcement point; inherited, they would direct it to itself.
 */
export function readEgressProxies(environment: Environment, listen: ListenAddress | undefined) {
  const named = (name: string) => environment[name.toLowerCase()] ?? environment[name] ?? "";
  const [httpProxy, httpsProxy, noProxy] = [named("HTTP_PROXY"), named("HTTPS_PROXY"), named("NO_PROXY")];
  const own = listen ? ownAuthorities(listen.host, listen.port) : new Set<string>();
  const faults = [...faultsOf("HTTP_PROXY", httpProxy, own), ...faultsOf("HTTPS_PROXY", httpsProxy, own)];
  if (faults.length > 0) return { ok: false, faults } as const;
  const proxies: EgressProxies | undefined =
    httpProxy === "" && httpsProxy === "" ? undefined : { httpProxy, httpsProxy, noProxy };
  return { ok: true, proxies } as const;
}

function faultsOf(name: string, value: string, own: ReadonlySet<string>): string[] {
  if (value === "") return [];
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol)) return [`${name}: must be an http or https URL`];
  if (!own.has(normalAuthority(url.host) ?? "")) return [];
  return [`${name}: names this enforcement point itself; it is meant for the agent, so unset it here`];
}
