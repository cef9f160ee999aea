import {
  createServer as createPlainServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import {
  createServer as createTlsServer,
  type ServerOptions as TlsOptions,
  type Server as TlsServer,
} from "node:https";
import type { Duplex } from "node:stream";
import { linger } from "./linger.ts";
import {
  bodyOf,
  type HttpRefusal,
  mayBeHead,
  noTunnel,
  type ParserError,
  rawAnswer,
  refusalOf,
  refusalOfParser,
  unknownExpectation,
} from "./refusal.ts";

export type SocketListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface HttpHandlers {
  readonly request: RequestListener;
  /** Sends 100 Continue itself, if at all. Default: it is sent, then `request` is called. */
  readonly expectContinue?: RequestListener;
  /** Absent: a request for an upgrade is served as one without. */
  readonly upgrade?: SocketListener;
  /** Of a proxy, which also judges the form of a target itself. Absent: CONNECT is 501. */
  readonly connect?: SocketListener;
}

type HttpOptions = Pick<ServerOptions, "headersTimeout" | "requestTimeout" | "connectionsCheckingInterval"> &
  Pick<ServerOptions, "keepAliveTimeout" | "shouldUpgradeCallback"> &
  Pick<TlsOptions, "cert" | "key" | "minVersion"> & { readonly maxHeaderBytes?: number };

/** Longer than Go's and most other clients keep an idle connection (90 s), so that the client closes it. */
const idleMs = 95_000;

/** What a server announces as `Keep-Alive: timeout`, for clients that follow it. */
const announcedMs = 60_000;

/**
 * A server, with TLS where a certificate is given, that answers as RFC 9112 says before a handler sees the request:
 * what two readers could frame or route differently is refused in the error envelope, and the connection closed.
 */
export function createHttpServer(options: HttpOptions, handlers: HttpHandlers): Server {
  const { maxHeaderBytes = 16 * 1024, keepAliveTimeout = announcedMs, ...given } = options;
  const all = {
    ...given,
    keepAliveTimeout,
    keepAliveTimeoutBuffer: idleMs - keepAliveTimeout,
    maxHeaderSize: maxHeaderBytes,
    insecureHTTPParser: false,
    // `refusalOf` checks it, and gives the reason.
    requireHostHeader: false,
  };
  const server = given.cert === undefined ? createPlainServer(all) : createTlsServer(all);
  // Counted in `refusalOf`: Node before 26 silently drops headers beyond its limit.
  server.maxHeadersCount = 0;
  serve(server, handlers);
  answerMalformed(server, maxHeaderBytes);
  return server;
}

function serve(server: Server | TlsServer, { request: onRequest, expectContinue, upgrade, connect }: HttpHandlers) {
  const isProxy = connect !== undefined;
  const checked = (serveRequest: RequestListener) => (request: IncomingMessage, response: ServerResponse) => {
    linger(request, response);
    const refused = refusalOf(request, isProxy);
    if (refused !== undefined) return refuse(response, refused);
    if (!isProxy && request.url === "*") return void response.writeHead(204).end();
    serveRequest(request, response);
  };
  const checkedSocket =
    (serveSocket: SocketListener): SocketListener =>
    (request, socket, head) => {
      const refused = refusalOf(request, isProxy);
      if (refused === undefined) return serveSocket(request, socket, head);
      socket.on("error", () => socket.destroy());
      socket.end(rawAnswer(refused, request.method === "HEAD"), () => socket.destroy());
    };
  const continued: RequestListener = (request, response) => {
    response.writeContinue();
    onRequest(request, response);
  };
  server.on("request", checked(onRequest));
  server.on("checkContinue", checked(expectContinue ?? continued));
  server.on(
    "checkExpectation",
    checked((_request, response) => refuse(response, unknownExpectation)),
  );
  if (upgrade) server.on("upgrade", checkedSocket(upgrade));
  server.on(
    "connect",
    checkedSocket(
      connect ?? ((_request, socket) => void socket.end(rawAnswer(noTunnel, false), () => socket.destroy())),
    ),
  );
}

function refuse(response: ServerResponse, refused: HttpRefusal): void {
  response.on("error", () => {});
  const body = bodyOf(refused);
  response.writeHead(refused.status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    connection: "close",
  });
  response.end(body);
}

/** Time to read the answer for a client that is still sending (RFC 9112 section 9.6). */
const lingerMs = 1_000;

/** Answers what the parser refuses, and closes: what follows on such a connection cannot be told apart. */
function answerMalformed(server: Server, maxHeaderBytes: number): void {
  const latest = new WeakMap<Duplex, ServerResponse>();
  const note = (request: IncomingMessage, response: ServerResponse) => void latest.set(request.socket, response);
  for (const event of ["request", "checkContinue", "checkExpectation"]) server.prependListener(event, note);
  server.on("clientError", (error: ParserError, socket: Duplex) => {
    // A parser that gave up says so again with every byte that still comes.
    if (socket.writableEnded) return;
    const refused = refusalOfParser(error, maxHeaderBytes);
    const response = latest.get(socket);
    const isAnswered = response?.headersSent === true && !(response.writableFinished && response.req.complete);
    if (refused === undefined || !socket.writable || (isAnswered && !response.writableFinished)) {
      socket.destroy();
      return;
    }
    const isHead = response?.req.complete === false ? response.req.method === "HEAD" : mayBeHead(error);
    // A second answer to one request would be taken for the answer to the next.
    socket.end(isAnswered ? "" : rawAnswer(refused, isHead));
    setTimeout(() => socket.destroy(), lingerMs).unref();
  });
}

/** The path of a target in origin-form or absolute-form (RFC 9112 section 3.2.2), without its query. */
export function pathOf({ url = "" }: IncomingMessage): string {
  const [target = ""] = url.split("?");
  return target.replace(/^https?:\/\/[^/]*/i, "") || "/";
}
