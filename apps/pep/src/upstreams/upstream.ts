import type { PepMode } from "../modes.ts";
import type { ProtectedResource } from "../protocols/protected-resource.ts";
import type { CallTarget, Protocol } from "../protocols/protocol.ts";
import type { StdioServer } from "../stdio/settings.ts";

/** The credential that replaces the agent's own `Authorization` (docs/reference/enforcement-point.md#credentials). */
export type Credential =
  | { readonly kind: "hop_token" }
  | { readonly kind: "none" }
  | { readonly kind: "passthrough" }
  /** The name of the verified session alone, for a child process that gets no request. */
  | { readonly kind: "session" }
  /** The upstream's own secret, which the agent never holds. */
  | { readonly kind: "header"; readonly name: string; readonly value: string };

/** PEM texts; `cert` and `key` together make mutual TLS. */
export interface UpstreamTls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface Upstream {
  readonly name: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** The value of its `Host` header. */
  readonly host: string;
  /** Authorities that name it in forward-proxy and transparent use, in normal spelling. */
  readonly hosts: readonly string[];
  readonly mode: PepMode;
  readonly credential: Credential;
  readonly tls: UpstreamTls;
  /** The server is a child process; `origin` leads nowhere. */
  readonly stdio: StdioServer | undefined;
  /** The call that a tunnel counts as; undefined where no route says `connect: true`. */
  readonly tunnel: CallTarget | undefined;
  readonly protocol: Protocol;
  /** Undefined: clients bring a hop token. */
  readonly resource: ProtectedResource | undefined;
}

/** The upstreams of one configuration, by the two ways to name one. */
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
