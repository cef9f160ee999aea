import { connect } from "node:net";
import type { UpstreamFault } from "../protocols/answers.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import { type AgentSocket, addressOf, type ConnectionEvents, connectMs, type StopConnection } from "./connection.ts";

const established = "HTTP/1.1 200 Connection Established\r\n\r\n";

/** Connects a tunnel: bytes pass unread in both directions, so the decision is about the host alone. */
export function openTunnel(
  { origin }: Upstream,
  { socket, head }: AgentSocket,
  { connected, handOver, opened, failed }: ConnectionEvents,
): StopConnection {
  const { hostname, port } = addressOf(origin);
  const upstream = connect({ host: hostname.replace(/^\[|\]$/g, ""), port, timeout: connectMs });
  let isOpen = false;
  const stop = () => {
    if (isOpen) socket.destroy();
    upstream.destroy();
  };
  const fail = (fault: UpstreamFault, error: Error) => {
    stop();
    if (!isOpen) failed(fault, error);
  };
  upstream.on("error", (error) => fail("upstream_unreachable", error));
  upstream.once("timeout", () => fail("upstream_timeout", new Error("connect timeout")));
  socket.once("close", () => upstream.destroy());
  upstream.once("connect", () => {
    isOpen = true;
    upstream.setTimeout(0);
    connected();
    handOver();
    socket.write(established);
    upstream.write(head);
    socket.pipe(upstream).pipe(socket);
    upstream.once("close", () => socket.destroy());
    opened(200);
  });
  return stop;
}
