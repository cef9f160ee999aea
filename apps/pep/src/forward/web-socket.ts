import { type ClientRequest, type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import { TLSSocket } from "node:tls";
import { createProxyServer } from "http-proxy-3";
import { type RawHeaders, recordOf, responseVia, settledHeaders } from "../message/headers.ts";
import type { UpstreamFault } from "../protocols/answers.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import type { AnswerHeaders } from "./answer-headers.ts";
import { type AgentSocket, addressOf, type ConnectionEvents, connectMs, type StopConnection } from "./connection.ts";
import { EndlessInterim, interimBudget } from "./interim-answers.ts";
import { closeFrame, frameReader } from "./web-socket-frames.ts";

/** The only upgrade that is supported; any other is forwarded as a plain request without its `Upgrade`. */
export const isWebSocket = ({ method, httpVersion, headers }: IncomingMessage): boolean =>
  method === "GET" &&
  httpVersion === "1.1" &&
  headers.upgrade?.toLowerCase() === "websocket" &&
  headers["content-length"] === undefined &&
  headers["transfer-encoding"] === undefined;

export interface Handshake {
  readonly path: string;
  readonly headers: RawHeaders;
  readonly answerHeaders: AnswerHeaders;
  /** Milliseconds until the upstream's answer. */
  readonly answerMs: number;
}

const upgrade = ["connection", "Upgrade", "upgrade", "websocket"] as const;

/** Forwards an admitted handshake and connects both sides (docs/reference/enforcement-point.md#steps-of-a-call). */
export function openWebSocket(
  { origin, tls }: Upstream,
  { path, headers, answerHeaders, answerMs }: Handshake,
  { request, socket, head }: AgentSocket,
  { connected, handOver, opened, failed }: ConnectionEvents,
): StopConnection {
  // One proxy for each: nothing of one connection may reach another. Its events run before its own handling does.
  const proxy = createProxyServer();
  // Set before the hand-over: the proxy copies these, and its hooks do not always run (measured).
  request.headers = recordOf([...headers, ...upgrade]);
  let isSettled = false;
  const settle = (run: () => void) => {
    clearTimeout(silence);
    if (!isSettled) run();
    isSettled = true;
  };
  let silence: NodeJS.Timeout | undefined;
  let handshake: ClientRequest | undefined;
  let close: StopConnection | undefined;
  proxy.on("proxyReqWs", (outgoing) => {
    const giveUp = (fault: UpstreamFault, error: Error) => {
      settle(() => failed(fault, error));
      outgoing.destroy();
    };
    silence = setTimeout(giveUp, answerMs, "upstream_timeout", new Error("no answer to the handshake"));
    const interim = interimBudget();
    outgoing.on("information", ({ rawHeaders }) => {
      if (!interim.takes(rawHeaders)) giveUp("upstream_unreachable", new EndlessInterim());
    });
    // The proxy keeps a handshake open for an agent that is gone.
    socket.once("close", () => outgoing.destroy());
    outgoing.once("socket", (toUpstream) => toUpstream.once(tlsConnected(toUpstream), connected));
    // The proxy parses and joins paths; the path that was decided on is sent instead.
    outgoing.path = path;
    outgoing.on("upgrade", (answer) => {
      handOver();
      // The proxy writes out `headers` after this.
      answer.headers = recordOf([...answerHeaders(answer.rawHeaders), ...upgrade]);
    });
    handshake = outgoing;
  });
  // The proxy repeats the agent's socket errors here and throws them without a listener; the socket's close is enough.
  proxy.on("error", () => {});
  proxy.on("open", (upstreamSocket) => {
    close = closeOf(socket, upstreamSocket);
    // The proxy only ends it, which an upstream may ignore.
    socket.once("close", () => upstreamSocket.destroy());
    settle(() => opened(101));
  });
  const onError = (error: Error) => settle(() => failed("upstream_unreachable", error));
  const address = addressOf(origin);
  // In this form the proxy takes the TLS material along.
  const target = { ...address, host: address.hostname, ...tls };
  proxy.ws(request, socket, head, { target, toProxy: true, connectTimeout: connectMs }, onError);
  // Replaces the proxy's own handling of an answer that is no upgrade, installed by now.
  handshake?.removeAllListeners("response").once("response", (answer) => {
    const { statusCode = 502 } = answer;
    if (statusCode < 200) {
      settle(() => failed("upstream_unreachable", new Error("half an upgrade")));
      return void answer.destroy();
    }
    close = () => socket.destroy();
    settle(() => opened(statusCode));
    passRefusal(request, socket, answer, answerHeaders);
  });
  return (reason) => {
    if (close) return close(reason);
    settle(() => {});
    handshake?.destroy();
  };
}

const tlsConnected = (socket: Socket): "connect" | "secureConnect" =>
  socket instanceof TLSSocket ? "secureConnect" : "connect";

/** For an agent to answer the close frame (RFC 6455 section 5.5.1). */
const closingMs = 1_000;

/** Between two frames of the upstream the agent is sent the reason; within one nothing can follow. */
function closeOf(socket: Duplex, upstreamSocket: Socket): StopConnection {
  const frames = frameReader();
  upstreamSocket.on("data", frames.push);
  return (reason) => {
    upstreamSocket.unpipe(socket);
    socket.unpipe(upstreamSocket);
    if (frames.isBetweenFrames() && socket.writable) {
      socket.end(closeFrame(reason));
      socket.resume();
      setTimeout(() => socket.destroy(), closingMs).unref();
    } else socket.destroy();
    upstreamSocket.destroy();
  };
}

/** Passes an answer on that is no upgrade. The proxy would frame a 204, keep `Connection: Upgrade` and hide a cut. */
function passRefusal(
  request: IncomingMessage,
  socket: AgentSocket["socket"],
  answer: IncomingMessage,
  answerHeaders: AnswerHeaders,
): void {
  const { statusCode: status = 502, rawHeaders } = answer;
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  try {
    const headers = settledHeaders(answerHeaders(rawHeaders), status, request);
    response.writeHead(status, [...headers, ...responseVia]);
  } catch {
    // An upstream's invalid header must not end the process.
    answer.destroy();
    return void socket.destroy();
  }
  pipeline(answer, response, (error) => (error ? socket.destroy() : socket.end()));
}
