import type { Duplex } from "node:stream";
import { type AgentSocket, type ConnectionEvents, placeOf, type StopConnection } from "../forward/connection.ts";
import { outgoingHeaders } from "../forward/outbound-credentials.ts";
import { openTunnel } from "../forward/tunnel.ts";
import { isWebSocket, openWebSocket } from "../forward/web-socket.ts";
import { writeAnswerToSocket } from "../message/write-answer.ts";
import { blockDetails, upstreamFaultAnswer } from "../protocols/answers.ts";
import { resolveTunnel, resolveUpgrade, unresolvable } from "../resolve/resolve.ts";
import {
  type AdmittedCall,
  beginCall,
  blockCall,
  blockedAs,
  type Call,
  type CallKind,
  countAsStream,
  finishForwarded,
  outboundOf,
  type PepPorts,
} from "./call.ts";
import { handleCall } from "./handle-call.ts";
import { answerHeadersOf, requestLineOf } from "./request-call.ts";

interface SocketCall extends Call, AgentSocket {
  readonly request: AgentSocket["request"];
  readonly handOver: () => void;
}

/** Decides on a WebSocket before `101 Switching Protocols`. Never rejects. */
export const handleUpgrade = (ports: PepPorts, agent: AgentSocket, own: ReadonlySet<string>): Promise<void> =>
  handleCall(webSockets, beginSocketCall(ports, agent, own));

/**
 * CONNECT, only to a host whose route says `connect: true`: one decision for the host, the weaker kind
 * (docs/reference/enforcement-point.md#finding-the-target). Never rejects.
 */
export const handleTunnel = (ports: PepPorts, agent: AgentSocket, own: ReadonlySet<string>): Promise<void> =>
  handleCall(tunnels, beginSocketCall(ports, agent, own));

function beginSocketCall(ports: PepPorts, agent: AgentSocket, own: ReadonlySet<string>): SocketCall {
  const { request, socket } = agent;
  const gone = new AbortController();
  const handOver = noticeEnd(socket);
  socket.on("error", () => socket.destroy());
  socket.once("close", () => gone.abort());
  return { ...beginCall(ports, request, own, gone.signal, () => {}), ...agent, handOver };
}

type Connect = (call: SocketCall, admitted: AdmittedCall, events: ConnectionEvents) => StopConnection;

function socketKind(resolve: CallKind<SocketCall>["resolve"], connect: Connect): CallKind<SocketCall> {
  const kind: CallKind<SocketCall> = {
    resolve,
    answer: ({ socket }, answer) => writeAnswerToSocket(socket, answer),
    forward(call, admitted) {
      const { watch } = admitted;
      const closed = new Promise<void>((over) => call.socket.once("close", () => over()));
      const connection = connectionEvents(call, admitted);
      const stop = connect(call, admitted, connection);
      watch.onEnd((refusal) => {
        if (!connection.isOpen()) blockCall(kind, call, refusal, blockedAs(call, admitted));
        stop(blockDetails(refusal).deny_reason ?? refusal.cause);
      });
      return closed;
    },
  };
  return kind;
}

const webSockets = socketKind(
  // Node before 24.9 hands over every kind of upgrade.
  (call) => (isWebSocket(call.request) ? resolveUpgrade(call.generation.upstreams, requestLineOf(call)) : unresolvable),
  (call, admitted, events) => {
    const { request, record } = call;
    const { upstream, path } = admitted.resolved;
    const headers = outgoingHeaders(request, upstream, record.trace(), outboundOf(call, admitted));
    const { upstreamHeadersMs: answerMs } = call.ports.limits;
    const handshake = { path, headers, answerHeaders: answerHeadersOf(call, admitted), answerMs };
    return openWebSocket(upstream, handshake, call, events);
  },
);

const tunnels = socketKind(
  ({ generation, request, ports }) =>
    // A tunnel within a tunnel would hide its host from the check of the outer one.
    ports.tunnels.authorityOf(request.socket) === undefined
      ? resolveTunnel(generation.upstreams, request.url ?? "")
      : unresolvable,
  (call, { resolved: { upstream } }, events) => openTunnel(placeOf(upstream.origin), call, events),
);

function connectionEvents(call: SocketCall, admitted: AdmittedCall): ConnectionEvents & { isOpen(): boolean } {
  const { ports, socket, handOver } = call;
  const sentMs = ports.monotonicMs();
  let isOpen = false;
  const finish = (status?: number, error?: Error) =>
    finishForwarded(call, admitted, { status, error, upstreamMs: ports.monotonicMs() - sentMs });
  // An agent that disconnects before its connection is open: the call was allowed all the same.
  socket.once("close", () => finish());
  return {
    isOpen: () => isOpen,
    connected: admitted.watch.started,
    handOver,
    opened(status) {
      isOpen = true;
      finish(status);
      const release = countAsStream(call);
      if (release) socket.once("close", release);
      else socket.destroy();
    },
    failed(fault, error) {
      const answer = upstreamFaultAnswer(fault);
      writeAnswerToSocket(socket, answer);
      finish(answer.status, error);
    },
  };
}

/**
 * The HTTP server no longer reads a socket that it handed over, so an agent's end would go unnoticed. This reads as
 * much as fits into the buffer and consumes none of it. Returns how to stop.
 */
function noticeEnd(socket: Duplex): () => void {
  const look = () => {
    if (socket.readableLength === 0) socket.read();
  };
  const onEnd = () => socket.destroy();
  socket.on("readable", look).on("end", onEnd);
  return () => socket.off("readable", look).off("end", onEnd);
}
