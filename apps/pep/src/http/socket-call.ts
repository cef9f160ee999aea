import type { Duplex } from "node:stream";
import type { AgentSocket, ConnectionEvents } from "../forward/connection.ts";
import { outgoingHeaders } from "../forward/outbound-credentials.ts";
import { openTunnel } from "../forward/tunnel.ts";
import { isWebSocket, openWebSocket } from "../forward/web-socket.ts";
import { writeAnswerToSocket } from "../message/write-answer.ts";
import { upstreamFaultAnswer } from "../protocols/answers.ts";
import { resolveTunnel, resolveUpgrade, unresolvable } from "../resolve/resolve.ts";
import {
  type AdmittedCall,
  beginCall,
  type Call,
  type CallKind,
  finishForwarded,
  type PepPorts,
  watchCall,
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

type Connect = (call: SocketCall, admitted: AdmittedCall, events: ConnectionEvents) => void;

const socketKind = (resolve: CallKind<SocketCall>["resolve"], connect: Connect): CallKind<SocketCall> => ({
  resolve,
  answer: ({ socket }, answer) => writeAnswerToSocket(socket, answer),
  forward(call, admitted) {
    const closed = new Promise<void>((over) => call.socket.once("close", () => over()));
    connect(call, admitted, connectionEvents(call, admitted));
    return closed;
  },
});

const webSockets = socketKind(
  // Node before 24.9 hands over every kind of upgrade.
  (call) => (isWebSocket(call.request) ? resolveUpgrade(call.generation.upstreams, requestLineOf(call)) : unresolvable),
  (call, admitted, events) => {
    const { request, record, inbound } = call;
    const { resolved, admission } = admitted;
    const { upstream, path } = resolved;
    const { taken } = admission;
    const headers = outgoingHeaders(request, upstream, record.trace, { inbound, taken });
    const { upstreamHeadersMs: answerMs } = call.ports.limits;
    openWebSocket(upstream, { path, headers, answerHeaders: answerHeadersOf(call, admitted), answerMs }, call, events);
  },
);

const tunnels = socketKind(
  ({ generation, request }) => resolveTunnel(generation.upstreams, request.url ?? ""),
  (call, { resolved: { upstream } }, events) => openTunnel(upstream, call, events),
);

function connectionEvents(call: SocketCall, admitted: AdmittedCall): ConnectionEvents {
  const { ports, socket, handOver } = call;
  const sentMs = ports.monotonicMs();
  const finish = (status?: number, error?: Error) =>
    finishForwarded(call, admitted, { status, error, upstreamMs: ports.monotonicMs() - sentMs });
  // An agent that disconnects before its connection is open: the call was allowed all the same.
  socket.once("close", () => finish());
  return {
    handOver,
    opened(status, close) {
      finish(status);
      socket.once("close", watchCall(call, admitted, close));
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
