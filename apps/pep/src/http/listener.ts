import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { isWebSocket } from "../forward/web-socket.ts";
import type { Limits } from "../limits.ts";
import { normalAuthority, ownAuthorities } from "../message/authority.ts";
import { valuesOf } from "../message/headers.ts";
import type { PepPorts } from "./call.ts";
import { isOwnPath, type OwnEndpoints, serveOwn } from "./own-endpoints.ts";
import { handleRequest } from "./request-call.ts";
import { handleTunnel, handleUpgrade } from "./socket-call.ts";

const maxCheckIntervalMs = 5_000;

/** Node's strict parser refuses what two readers could frame differently (RFC 9112 section 6.3): 400 and close. */
const serverOptions = ({ agentHeadersMs }: Pick<Limits, "agentHeadersMs">): ServerOptions => ({
  insecureHTTPParser: false,
  requireHostHeader: true,
  maxHeaderSize: 32 * 1024,
  headersTimeout: agentHeadersMs,
  connectionsCheckingInterval: Math.min(maxCheckIntervalMs, agentHeadersMs),
  keepAliveTimeout: 60_000,
  // Bodies have an idle time of their own.
  requestTimeout: 0,
});

/** Three ways in, upgrades and tunnels on one port (docs/reference/enforcement-point.md#finding-the-target). */
export function createProxyServer(ports: PepPorts, endpoints: OwnEndpoints): Server {
  const server = createServer({ ...serverOptions(ports.limits), shouldUpgradeCallback: isWebSocket });
  // Counted in `refusedAs`: Node before 26 silently drops headers beyond its limit.
  server.maxHeadersCount = 0;
  const own = ownAuthoritiesOf(server);
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const refused = refusedAs(request);
    if (refused !== undefined) return void response.writeHead(refused, { connection: "close" }).end();
    // An agent that disconnects is noticed by the close of its connection.
    response.on("error", () => {});
    if (isForSelf(ports, request)) return void serveOwn(endpoints, request, response).catch(() => response.destroy());
    void handleRequest(ports, request, response, own(request));
  };
  server.on("request", onRequest);
  // Without a listener Node would send 100 Continue before anything is decided.
  server.on("checkContinue", onRequest);
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void handleUpgrade(ports, { request, socket, head }, own(request));
  });
  server.on("connect", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void handleTunnel(ports, { request, socket, head }, own(request));
  });
  return server;
}

/** The listener that kubelet and Prometheus call. */
export function createAdminServer(endpoints: OwnEndpoints, limits: Limits): Server {
  return createServer(serverOptions(limits), (request, response) => {
    void serveOwn(endpoints, request, response).catch(() => response.destroy());
  });
}

const maxHeaders = 1_000;

/** Node's parser also accepts other versions in this syntax (RFC 9112 section 2.3). */
function refusedAs({ httpVersion, rawHeaders }: IncomingMessage): 431 | 505 | undefined {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return 505;
  return rawHeaders.length / 2 > maxHeaders ? 431 : undefined;
}

/** Under a host that an upstream lists, every path is the upstream's. */
function isForSelf({ upstreams }: PepPorts, request: IncomingMessage): boolean {
  if (!isOwnPath(request.url ?? "")) return false;
  const hosts = valuesOf(request.rawHeaders, "host");
  return !hosts.some((host) => upstreams.current.byHost.has(normalAuthority(host) ?? ""));
}

/** The addresses of the listener and of a connection, cached: there are few. */
function ownAuthoritiesOf(server: Server): (request: IncomingMessage) => ReadonlySet<string> {
  let bound: AddressInfo | undefined;
  server.once("listening", () => {
    bound = server.address() as AddressInfo;
  });
  const known = new Map<string, ReadonlySet<string>>();
  return ({ socket }) => {
    const local = (socket.localAddress ?? "").replace(/^::ffff:/, "");
    const found = known.get(local);
    if (found) return found;
    const names = bound ? [bound.address, local] : [local];
    const own = new Set(names.flatMap((name) => [...ownAuthorities(name, bound?.port ?? 0)]));
    known.set(local, own);
    return own;
  };
}
