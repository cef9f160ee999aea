import { type Dispatcher, EnvHttpProxyAgent, Pool } from "undici";
import { recordOf } from "../message/headers.ts";
import type { EgressProxies } from "./egress-proxies.ts";
import type { Upstream } from "./upstream.ts";

/** The connections to one upstream. */
export interface UpstreamConnections extends Pick<Dispatcher, "dispatch"> {
  destroy(): Promise<void>;
}

export type Connect = (upstream: Pick<Upstream, "origin" | "tls">) => UpstreamConnections;

const maxHeaderBytes = 32 * 1024;
const connectTimeoutMs = 10_000;

/** Keep-alive connections, TLS originated here, through a proxy where one is named. Calls in flight are bounded elsewhere. */
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
      // A proxy that takes the connection and then says nothing would keep the call waiting.
      clientFactory: (proxy, given) => new Pool(proxy, { ...given, headersTimeout: connectMs }),
    });
    return {
      // The proxy agent keeps but the last of headers that are repeated in a list.
      dispatch: (request, handler) =>
        agent.dispatch({ ...request, origin, headers: recordOf(listOf(request)) }, handler),
      destroy: () => agent.destroy(),
    };
  };

const listOf = ({ headers }: Dispatcher.DispatchOptions): string[] =>
  Array.isArray(headers) ? headers.map(String) : [];
