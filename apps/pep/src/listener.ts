import { createServer, type IncomingMessage, type Server, type ServerOptions } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { normalAuthority, ownAuthorities } from "./authority.ts";
import { handleCall, type OwnAuthorities } from "./call.ts";
import { valuesOf } from "./headers.ts";
import { isOwnPath, type OwnEndpoints, serveOwn } from "./own-endpoints.ts";
import type { PepPorts } from "./ports.ts";
import { handleTunnel } from "./tunnel.ts";
import { handleUpgrade, isWebSocket } from "./upgrade.ts";

/** Node's strict parser refuses what two readers could frame differently (RFC 9112 section 6.3): 400 and close. */
const serverOptions: ServerOptions = {
  insecureHTTPParser: false,
  requireHostHeader: true,
  maxHeaderSize: 32 * 1024,
  headersTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 60_000,
  // Bodies have an idle time of their own; a long upload is no fault.
  requestTimeout: 0,
};

/** The listener that agents call: three ways in, upgrades and tunnels on one port (contract: How a call finds its target). */
export function createProxyServer(ports: PepPorts, endpoints: OwnEndpoints): Server {
  const server = createServer({ ...serverOptions, shouldUpgradeCallback: isWebSocket });
  const own = ownAuthoritiesOf(server);
  const onRequest: Parameters<typeof server.on>[1] = (request: IncomingMessage, response) => {
    if (isForSelf(ports, request)) return void serveOwn(endpoints, request, response).catch(() => response.destroy());
    void handleCall(ports, request, response, own);
  };
  server.on("request", onRequest);
  // Without a listener Node would send 100 Continue before anything is decided.
  server.on("checkContinue", onRequest);
  server.on(
    "upgrade",
    (request: IncomingMessage, socket: Duplex, head: Buffer) => void handleUpgrade(ports, request, socket, head, own),
  );
  server.on(
    "connect",
    (request: IncomingMessage, socket: Duplex, head: Buffer) => void handleTunnel(ports, request, socket, head),
  );
  return server;
}

/** The listener that kubelet and Prometheus call. */
export function createAdminServer(endpoints: OwnEndpoints): Server {
  return createServer(serverOptions, (request, response) => {
    void serveOwn(endpoints, request, response).catch(() => response.destroy());
  });
}

/** Under a host that an upstream lists, every path is the upstream's. */
function isForSelf({ upstreams }: PepPorts, request: IncomingMessage): boolean {
  if (!isOwnPath(request.url ?? "")) return false;
  const hosts = valuesOf(request.rawHeaders, "host");
  return !hosts.some((host) => upstreams.current.byHost.has(normalAuthority(host) ?? ""));
}

/** The addresses of the listener and of the connection itself; few, so remembered. */
function ownAuthoritiesOf(server: Server): OwnAuthorities {
  const known = new Map<string, ReadonlySet<string>>();
  return ({ socket }) => {
    const local = (socket.localAddress ?? "").replace(/^::ffff:/, "");
    const found = known.get(local);
    if (found) return found;
    const bound = server.address() as AddressInfo;
    const own = new Set([...ownAuthorities(bound.address, bound.port), ...ownAuthorities(local, bound.port)]);
    known.set(local, own);
    return own;
  };
}
