import type { ClientRequest, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { createProxyServer } from "http-proxy-3";
import { credentialHeaders, secretsOf } from "../forward/outbound-credentials.ts";
import { passRefusal } from "../forward/refused-upgrade.ts";
import { type RawHeaders, recordOf, requestHeaders, responseHeaders } from "../message/headers.ts";
import { resolve } from "../resolve/resolve.ts";
import type { HttpUpstream } from "../upstreams/upstream.ts";
import { type OwnAuthorities, requestLineOf } from "./call.ts";
import { type Destination, type Opening, openConnection } from "./open-connection.ts";
import type { PepPorts } from "./ports.ts";

/** The one upgrade that is known here; any other goes on as a plain request, without its `Upgrade`. */
export const isWebSocket = ({ method, httpVersion, headers }: IncomingMessage): boolean =>
  method === "GET" &&
  httpVersion === "1.1" &&
  headers.upgrade?.toLowerCase() === "websocket" &&
  headers["content-length"] === undefined &&
  headers["transfer-encoding"] === undefined;

interface WebSocketDestination extends Destination<HttpUpstream> {
  readonly path: string;
}

/** A WebSocket, decided before `101 Switching Protocols` (contract: The forward path). Never rejects. */
export function handleUpgrade(
  ports: PepPorts,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  own: OwnAuthorities,
): Promise<void> {
  return openConnection<WebSocketDestination>(
    ports,
    request,
    socket,
    (upstreams) => {
      const place = resolve(upstreams, requestLineOf(request, own));
      // Node before 24.9 hands over every kind of upgrade.
      if (place.kind === "unresolvable" || place.kind === "message" || !isWebSocket(request)) return undefined;
      const { upstream, path } = place;
      if (upstream.protocol !== "http") return undefined;
      return { upstream, path, call: place.kind === "call" ? place.call : undefined };
    },
    (opening) => connectWebSocket(opening, request, socket, head),
  );
}

const connectMs = 10_000;

function connectWebSocket(
  { destination, admission, facts, handOver, opened, failed }: Opening<WebSocketDestination>,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const { upstream, path } = destination;
  const secrets = secretsOf(upstream.credential, admission.carried);
  // One proxy for each: nothing of one connection may reach another. Its events run before its own handling does.
  const proxy = createProxyServer();
  // Before it is handed over: the proxy copies these and asks nobody (measured: its hooks do not always run).
  request.headers = recordOf([
    ...requestHeaders(request.rawHeaders, request.httpVersion, [
      ...["host", upstream.host],
      ...Object.entries(facts.record.trace).flat(),
      ...credentialHeaders(upstream.credential, admission.carried),
    ]),
    ...["connection", "Upgrade", "upgrade", "websocket"],
  ]);
  let isSettled = false;
  const settle = (run: () => void) => {
    clearTimeout(silence);
    if (!isSettled) run();
    isSettled = true;
  };
  let silence: NodeJS.Timeout | undefined;
  let handshake: ClientRequest | undefined;
  proxy.on("proxyReqWs", (outgoing) => {
    silence = setTimeout(() => {
      settle(() => failed("upstream_timeout", new Error("no answer to the handshake")));
      outgoing.destroy();
    }, facts.ports.limits.upstreamHeadersMs);
    // The proxy lets a handshake wait for an agent that is gone.
    socket.once("close", () => outgoing.destroy());
    // The proxy parses and joins paths; what was decided on is what is sent.
    outgoing.path = path;
    outgoing.on("upgrade", (answer) => {
      handOver();
      showOnly(answer, secrets, ["connection", "Upgrade", "upgrade", "websocket"]);
    });
    handshake = outgoing;
  });
  // The proxy repeats the agent's socket errors here, and throws what nobody listens to; the socket's end says it all.
  proxy.on("error", () => {});
  proxy.on("open", (upstreamSocket) => {
    const close = () => {
      socket.destroy();
      upstreamSocket.destroy();
    };
    // The proxy only ends it, which an upstream may answer with silence.
    socket.once("close", () => upstreamSocket.destroy());
    settle(() => opened(101, close));
  });
  const onError = (error: Error) => settle(() => failed("upstream_unreachable", error));
  proxy.ws(request, socket, head, { target: targetOf(upstream), toProxy: true, connectTimeout: connectMs }, onError);
  // Its own way with an answer that is no upgrade, which it has taken by now, is not ours.
  handshake?.removeAllListeners("response").once("response", (answer) => {
    const { statusCode = 502 } = answer;
    if (statusCode < 200) {
      settle(() => failed("upstream_unreachable", new Error("half an upgrade")));
      return void answer.destroy();
    }
    settle(() => opened(statusCode, () => socket.destroy()));
    passRefusal(request, socket, answer, responseHeaders(answer.rawHeaders, secrets));
  });
}

/** In this form the proxy takes the TLS material along. */
function targetOf({ origin, tls }: HttpUpstream) {
  const url = new URL(origin);
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  return { protocol: url.protocol, host: url.hostname, hostname: url.hostname, port, ...tls };
}

/** The proxy writes out what stands in `headers`, after this. */
function showOnly(answer: IncomingMessage, secrets: readonly string[], added: RawHeaders): void {
  answer.headers = recordOf([...responseHeaders(answer.rawHeaders, secrets), ...added]);
}
