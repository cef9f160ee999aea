import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { UpstreamFault } from "../protocols/answers.ts";

/** An agent's connection that the HTTP server handed over: of an upgrade or a CONNECT. */
export interface AgentSocket {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that came with the request. */
  readonly head: Buffer;
}

/** Milliseconds to connect to an upstream. */
export const connectMs = 10_000;

export function addressOf(origin: string) {
  const { protocol, hostname, port } = new URL(origin);
  return { protocol, hostname, port: Number(port || (protocol === "https:" ? 443 : 80)) };
}

/** The same for a plain TCP connection. */
export function placeOf(origin: string) {
  const { hostname, port } = addressOf(origin);
  return { hostname: hostname.replace(/^\[|\]$/g, ""), port };
}

/** Exactly one of `opened` and `failed` is called, unless the agent disconnects first or the call is stopped. */
export interface ConnectionEvents {
  /** The connection to the upstream stands; the request follows. */
  connected(): void;
  /** Called before the connector begins to read the agent's side. */
  handOver(): void;
  /** The upstream answered. */
  opened(status: number): void;
  failed(fault: UpstreamFault, error: Error): void;
}

/** Ends a connection. Before it was opened the agent's side stays, and still waits for an answer. */
export type StopConnection = (reason: string) => void;
