import { connect, type LookupFunction } from "node:net";
import type { UpstreamFault } from "../protocols/answers.ts";
import { type AgentSocket, type ConnectionEvents, connectMs, type StopConnection } from "./connection.ts";

/** Where a tunnel leads: a host name, or an address without brackets. */
export interface TunnelEnd {
  readonly hostname: string;
  readonly port: number;
  /** Default: the system's. */
  readonly lookup?: LookupFunction;
}

export const established = "HTTP/1.1 200 Connection Established\r\n\r\n";

/** Connects a tunnel: bytes pass unread in both directions, so a decision could be about the host alone. */
export function openTunnel(
  { hostname, port, lookup }: TunnelEnd,
  { socket, head }: Pick<AgentSocket, "socket" | "head">,
  { connected, handOver, opened, failed }: ConnectionEvents,
): StopConnection {
  const upstream = connect({ host: hostname, port, timeout: connectMs, ...(lookup && { lookup }) });
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
    // What was sent before its end may still be on its way to a slow agent.
    upstream.once("close", () => socket.end(() => socket.destroy()));
    opened(200);
  });
  return stop;
}
