import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { resolveTunnel } from "../resolve/resolve.ts";
import { type Destination, type Opening, openConnection } from "./open-connection.ts";
import type { PepPorts } from "./ports.ts";

/**
 * CONNECT, only to a host whose route says `connect: true`: decided once for the host, since nothing of what goes
 * through can be read, and so the weaker kind (contract: How a call finds its target). Never rejects.
 */
export const handleTunnel = (ports: PepPorts, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> =>
  openConnection<Destination>(
    ports,
    request,
    socket,
    (upstreams) => resolveTunnel(upstreams, request.url ?? ""),
    (opening) => connectTunnel(opening, socket, head),
  );

const connectMs = 10_000;
const established = "HTTP/1.1 200 Connection Established\r\n\r\n";

function connectTunnel(opening: Opening<Destination>, socket: Duplex, head: Buffer): void {
  const { destination, handOver, opened, failed } = opening;
  const { hostname, port, protocol } = new URL(destination.upstream.origin);
  const upstream = connect({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port || (protocol === "https:" ? 443 : 80)),
    timeout: connectMs,
  });
  const close = () => {
    socket.destroy();
    upstream.destroy();
  };
  let isOpen = false;
  const fail = (fault: "upstream_unreachable" | "upstream_timeout", error: Error) => {
    upstream.destroy();
    if (isOpen) close();
    else failed(fault, error);
  };
  upstream.on("error", (error) => fail("upstream_unreachable", error));
  upstream.once("timeout", () => fail("upstream_timeout", new Error("connect timeout")));
  socket.once("close", () => upstream.destroy());
  upstream.once("connect", () => {
    isOpen = true;
    upstream.setTimeout(0);
    handOver();
    socket.write(established);
    upstream.write(head);
    socket.pipe(upstream).pipe(socket);
    upstream.once("close", () => socket.destroy());
    opened(200, close);
  });
}
