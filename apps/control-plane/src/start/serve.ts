import { once } from "node:events";
import { readFileSync, watch } from "node:fs";
import { createServer as createPlainServer, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import { dirname } from "node:path";
import { getRequestListener, RequestError } from "@hono/node-server";
import { answerMalformed, malformedResponse } from "../http/malformed.ts";
import { drainTimes } from "./drain-times.ts";

export interface ServeSettings {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
  /** Told when changed certificate files cannot be used; the old ones keep serving. */
  readonly onBadCertificate: (error: unknown) => void;
  /** How long a request may take to arrive, from its first byte or its connection on. Default: a minute. */
  readonly patienceMs?: number;
}

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Serving {
  /** The address it listens on, as a URL without a path. */
  readonly url: string;
  /** From now on each answer closes its connection, so that clients come back elsewhere (RFC 9112 section 9.6). */
  letGo(): void;
  /** Lets go and stops accepting; what is in flight may finish until the deadline, then it is cut off. */
  drain(deadlineMs: number): Promise<void>;
}

type Fetch = (request: Request) => Response | Promise<Response>;

/** Longer than a client's pool keeps a connection, so that it is the client who closes an idle one. */
const idleMs = 65_000;

/**
 * What clients are told of it (`Keep-Alive: timeout`). Whoever keeps to it has closed what was idle when this process was
 * told to end, before a drain closes it, so that no request crosses with its end.
 */
const idleHintMs = drainTimes.noticeMs;

/** Listens; `fetchOf` is asked once the address is known, since the issuer may be named after it. */
export async function serve(settings: ServeSettings, fetchOf: (url: string) => Promise<Fetch>): Promise<Serving> {
  const { host, port, tls, onBadCertificate } = settings;
  let answer: Fetch = () => new Response(null, { status: 503, headers: { "Retry-After": "1" } });
  const server = createServer(settings, (request) => answer(request));
  answerMalformed(server);
  server.keepAliveTimeout = idleHintMs;
  server.keepAliveTimeoutBuffer = idleMs - idleHintMs;
  const sockets = trackSockets(server);
  let isLettingGo = false;
  server.prependListener("request", (_request, response) => {
    if (isLettingGo) response.setHeader("Connection", "close");
  });
  server.listen(port, host);
  await once(server, "listening");
  const stopWatching = tls === undefined ? () => {} : reloadTls(server as unknown as TlsServer, tls, onBadCertificate);
  const address = server.address() as AddressInfo;
  const shownHost = address.family === "IPv6" ? `[${address.address}]` : address.address;
  const url = `${tls === undefined ? "http" : "https"}://${shownHost}:${address.port}`;
  answer = await fetchOf(url);
  return {
    url,
    letGo() {
      isLettingGo = true;
    },
    async drain(deadlineMs) {
      isLettingGo = true;
      stopWatching();
      await finish(server, sockets, deadlineMs);
    },
  };
}

function createServer({ tls, patienceMs = 60_000 }: ServeSettings, fetch: Fetch): Server {
  const options = {
    headersTimeout: patienceMs,
    requestTimeout: patienceMs,
    connectionsCheckingInterval: patienceMs / 4,
    // Asked by the adapter, whose answer can say so.
    requireHostHeader: false,
  };
  const listener = getRequestListener(fetch, {
    // Of the adapter alone: an app answers its own faults.
    errorHandler: (error) =>
      error instanceof RequestError ? malformedResponse() : new Response(null, { status: 500 }),
  });
  return tls === undefined
    ? createPlainServer(options, listener)
    : createTlsServer({ ...options, ...readTls(tls) }, listener);
}

/** Time for a request that is on its way, a new connection's first among them. */
const lingerMs = 500;

async function finish(server: Server, sockets: ReadonlySet<Socket>, deadlineMs: number): Promise<void> {
  const closed = once(server, "close");
  // Node's own close of an HTTP server resets connections that have not asked yet, though they were accepted.
  NetServer.prototype.close.call(server);
  const idling = setInterval(() => server.closeIdleConnections(), lingerMs);
  const cut = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, deadlineMs);
  await closed;
  clearInterval(idling);
  clearTimeout(cut);
}

/** Those in a TLS handshake among them, of which the HTTP server does not know yet. */
function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

const readTls = ({ certFile, keyFile }: TlsFiles) => ({ cert: readFileSync(certFile), key: readFileSync(keyFile) });

/** The folder is watched, since certificates are replaced by renaming (Kubernetes: by a symbolic link). */
function reloadTls(server: TlsServer, files: TlsFiles, onBadCertificate: (error: unknown) => void): () => void {
  let settling: NodeJS.Timeout | undefined;
  const reload = () => {
    try {
      server.setSecureContext(readTls(files));
    } catch (error) {
      onBadCertificate(error);
    }
  };
  const watchers = [...new Set([files.certFile, files.keyFile].map((file) => dirname(file)))].map((folder) =>
    watch(folder, () => {
      clearTimeout(settling);
      // Certificate and key change one after the other.
      settling = setTimeout(reload, 200).unref();
    }),
  );
  return () => {
    clearTimeout(settling);
    for (const watcher of watchers) watcher.close();
  };
}
