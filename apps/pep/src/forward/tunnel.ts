import { connect } from "node:net";
import type { Upstream } from "../upstreams/upstream.ts";
import type { AgentSocket, ConnectionEvents } from "./connection.ts";

const connectMs = 10_000;
const established = "HTTP/1.1 200 Connection Established\r\n\r\n";

/** Connects a tunnel: bytes pass unread in both directions, so the decision is about the host alone. */
export function openTunnel(
  { origin }: Upstream,
  { socket, head }: AgentSocket,
  { handOver, opened, failed }: ConnectionEvents,
): void {
  const { hostname, port, protocol } = new URL(origin);
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
