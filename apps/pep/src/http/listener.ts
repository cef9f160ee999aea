import type { IncomingMessage, RequestListener, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createHttpServer, isLoopback } from "@svc/host";
import { isWebSocket } from "../forward/web-socket.ts";
import type { Limits } from "../limits.ts";
import { normalAuthority, ownAuthorities } from "../message/authority.ts";
import { valuesOf } from "../message/headers.ts";
import type { PepPorts } from "./call.ts";
import { handleConnect } from "./connect-request.ts";
import { forwardElsewhere, otherHostOf } from "./other-host.ts";
import { isOwnPath, type OwnEndpoints, serveOwn } from "./own-endpoints.ts";
import { handleRequest } from "./request-call.ts";
import { isResourceMetadataPath, type ResourceMetadataPorts, serveResourceMetadata } from "./resource-metadata.ts";
import { handleUpgrade } from "./socket-call.ts";

const maxCheckIntervalMs = 5_000;

const serverOptions = ({ agentHeadersMs }: Pick<Limits, "agentHeadersMs">) => ({
  maxHeaderBytes: 32 * 1024,
  headersTimeout: agentHeadersMs,
  connectionsCheckingInterval: Math.min(maxCheckIntervalMs, agentHeadersMs),
  // Bodies have an idle time of their own.
  requestTimeout: 0,
});

export interface PublicResources extends ResourceMetadataPorts {
  /** Where OAuth clients reach this listener. */
  readonly publicUrl: URL | undefined;
}

/** Three ways in, upgrades and tunnels on one port (docs/reference/enforcement-point.md#finding-the-target). */
export function createProxyServer(ports: PepPorts, endpoints: OwnEndpoints, resources: PublicResources): Server {
  const ownOf = ownAuthoritiesOf(() => server.address() as AddressInfo, resources.publicUrl);
  /** Inside of a tunnel to another host there is no listener of ours. */
  const own = (request: IncomingMessage) => (isTunnelled(ports, request) ? nowhere : ownOf(request));
  const use = ({ socket }: IncomingMessage) => ports.tunnels.use(socket);
  const request: RequestListener = (request, response) => {
    // An agent that disconnects is noticed by the close of its connection.
    response.on("error", () => {});
    use(request);
    if (isForSelf(ports, request)) {
      const isMetadata = isResourceMetadataPath(request.url ?? "");
      const served = isMetadata
        ? serveResourceMetadata(resources, request, response)
        : serveOwn(endpoints, request, response);
      return void served.catch(() => response.destroy());
    }
    const elsewhere = otherHostOf(ports, request, own(request));
    if (elsewhere !== undefined) return void forwardElsewhere(ports, request, response, elsewhere);
    void handleRequest(ports, request, response, own(request));
  };
  const server = createHttpServer(
    { ...serverOptions(ports.limits), shouldUpgradeCallback: isWebSocket },
    {
      request,
      // 100 Continue is sent once the call is decided.
      expectContinue: request,
      upgrade(request, socket, head) {
        use(request);
        void handleUpgrade(ports, { request, socket, head }, own(request));
      },
      connect: (request, socket, head) =>
        void handleConnect(ports, { request, socket, head }, own(request), (end) => server.emit("connection", end)),
    },
  );
  return server;
}

/** The listener that kubelet and Prometheus call. */
export function createAdminServer(endpoints: OwnEndpoints, limits: Limits): Server {
  return createHttpServer(serverOptions(limits), {
    request: (request, response) => void serveOwn(endpoints, request, response).catch(() => response.destroy()),
  });
}

const nowhere: ReadonlySet<string> = new Set();

const isTunnelled = ({ tunnels }: PepPorts, { socket }: IncomingMessage): boolean =>
  tunnels.authorityOf(socket) !== undefined;

/** Under a host that an upstream lists, every path is the upstream's. */
function isForSelf(ports: PepPorts, request: IncomingMessage): boolean {
  const { upstreams } = ports;
  const target = request.url ?? "";
  if ((!isOwnPath(target) && !isResourceMetadataPath(target)) || isTunnelled(ports, request)) return false;
  const hosts = valuesOf(request.rawHeaders, "host");
  return !hosts.some((host) => upstreams.current().byHost.has(normalAuthority(host) ?? ""));
}

/** The addresses of the listener, of a connection and of the public address, cached: there are few. */
function ownAuthoritiesOf(
  bound: () => AddressInfo,
  publicUrl: URL | undefined,
): (request: IncomingMessage) => ReadonlySet<string> {
  const known = new Map<string, ReadonlySet<string>>();
  const published = publicUrl === undefined ? [] : [normalAuthority(publicUrl.host) ?? publicUrl.host];
  return ({ socket }) => {
    const local = (socket.localAddress ?? "").replace(/^::ffff:/, "");
    const found = known.get(local);
    if (found) return found;
    const { address, port } = bound();
    // From another machine, its loopback names are of another listener.
    const names = isLoopback(local) ? [address, local] : [local];
    const own = new Set([...names.flatMap((name) => [...ownAuthorities(name, port)]), ...published]);
    known.set(local, own);
    return own;
  };
}
