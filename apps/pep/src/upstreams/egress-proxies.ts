import type { Environment, ListenAddress } from "@svc/host";
import { normalAuthority, ownAuthorities } from "../message/authority.ts";

/** Proxies to upstreams; empty for none. Their URLs may contain a password, so no message shows them. */
export interface EgressProxies {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  readonly noProxy: string;
}

export type EgressReading =
  /** Undefined: no proxy is named. */
  | { readonly ok: true; readonly proxies: EgressProxies | undefined }
  | { readonly ok: false; readonly faults: readonly string[] };

/**
 * Reads `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, the lower-case spelling first. The same variables may direct an agent
 * to this enforcement point; inherited, they would direct it to itself.
 */
export function readEgressProxies(environment: Environment, listen: ListenAddress | undefined): EgressReading {
  const named = (name: string) => environment[name.toLowerCase()] ?? environment[name] ?? "";
  const proxies = {
    httpProxy: named("HTTP_PROXY"),
    httpsProxy: named("HTTPS_PROXY"),
    noProxy: named("NO_PROXY"),
  };
  const own = listen ? ownAuthorities(listen.host, listen.port) : new Set<string>();
  const faults = [
    ...faultsOf("HTTP_PROXY", proxies.httpProxy, own),
    ...faultsOf("HTTPS_PROXY", proxies.httpsProxy, own),
  ];
  if (faults.length > 0) return { ok: false, faults };
  return { ok: true, proxies: proxies.httpProxy === "" && proxies.httpsProxy === "" ? undefined : proxies };
}

function faultsOf(name: string, value: string, own: ReadonlySet<string>): string[] {
  if (value === "") return [];
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol)) return [`${name}: must be an http or https URL`];
  if (!own.has(normalAuthority(url.host) ?? "")) return [];
  return [`${name}: names this enforcement point itself; it is meant for the agent, so unset it here`];
}
