import { type Dispatcher, EnvHttpProxyAgent, Pool } from "undici";
import { recordOf } from "../message/headers.ts";
import type { EgressProxies } from "./egress-proxies.ts";
import type { Upstream } from "./upstream.ts";

export interface UpstreamConnections extends Pick<Dispatcher, "dispatch"> {
  destroy(): Promise<void>;
}

export type Connect = (upstream: Pick<Upstream, "origin" | "tls">) => UpstreamConnections;

const maxHeaderBytes = 32 * 1024;
const connectTimeoutMs = 10_000;

/** Keep-alive connections with TLS from here, through a proxy if one is set. The limiter bounds calls in flight. */
export const connectUpstreams =
  (proxies: EgressProxies | undefined, connectMs = connectTimeoutMs): Connect =>
  ({ origin, tls }) => {
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
