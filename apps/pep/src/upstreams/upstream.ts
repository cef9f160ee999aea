import type { CallTarget, Route } from "../protocols/routes.ts";

export const pepModes = ["enforce", "observe"] as const;
export type PepMode = (typeof pepModes)[number];

/** What an upstream is shown in place of the agent's own `Authorization` (contract: Enforcement point). */
export type Credential =
  | { readonly kind: "hop_token" }
  | { readonly kind: "none" }
  | { readonly kind: "passthrough" }
  /** The upstream's own secret, which the agent never holds. */
  | { readonly kind: "header"; readonly name: string; readonly value: string };

/** PEM texts; `cert` and `key` together make mutual TLS. */
export interface UpstreamTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

interface UpstreamBase {
  readonly name: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** The value of its `Host` header. */
  readonly host: string;
  /** The path of its URL: empty for the root, else it begins with a slash; only an MCP endpoint may end in one. */
  readonly basePath: string;
  /** Authorities that name it in forward-proxy and transparent use, in normal spelling. */
  readonly hosts: readonly string[];
  readonly mode: PepMode;
  readonly credential: Credential;
  readonly tls: UpstreamTls;
  /** Where a route says `connect: true`: what a tunnel to it counts as. */
  readonly tunnel: CallTarget | undefined;
}

export interface HttpUpstream extends UpstreamBase {
  readonly protocol: "http";
  readonly routes: readonly Route[];
}

export interface McpUpstream extends UpstreamBase {
  readonly protocol: "mcp";
  /** For every tool that `tools` does not name. */
  readonly dataClass: string | undefined;
  /** Tool name, or `#method`, to its data class. */
  readonly tools: ReadonlyMap<string, string>;
  readonly filterToolLists: boolean;
}

export type Upstream = HttpUpstream | McpUpstream;

/** Every upstream of one configuration, by the two ways to name one. */
export interface Upstreams {
  readonly all: readonly Upstream[];
  readonly byName: ReadonlyMap<string, Upstream>;
  /** Keys in normal spelling. */
  readonly byHost: ReadonlyMap<string, Upstream>;
}

export const upstreamsOf = (all: readonly Upstream[]): Upstreams => ({
  all,
  byName: new Map(all.map((upstream) => [upstream.name, upstream])),
  byHost: new Map(all.flatMap((upstream) => upstream.hosts.map((host) => [host, upstream]))),
});
