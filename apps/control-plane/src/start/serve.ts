import type { Server } from "node:http";
import type { Server as TlsServer } from "node:https";
import { getRequestListener, RequestError } from "@hono/node-server";
import type { ErrorEnvelope } from "@svc/core";
import { createHttpServer, listen, readTls, reloadTls, type TlsFiles } from "@svc/host";
import { drainTimes } from "./config.ts";

interface ServeSettings {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
  /** Changed certificate files cannot be used; the old ones keep serving. */
  readonly onBadCertificate: (error: unknown) => void;
  /** For a request to arrive. Default: a minute. */
  readonly patienceMs?: number;
}

export type Serving = Awaited<ReturnType<typeof serve>>;

/** The second argument has the response of Node. */
type Fetch = (request: Request, env?: object) => Response | Promise<Response>;

/** `Keep-Alive: timeout`: clients that follow it close idle connections before a drain does, so no request crosses it. */
const idleHintMs = drainTimes.noticeMs;

/**
 * Listens; `fetchOf` is called once the address is known, since the issuer may be named after it. `url` is that address,
 * without a path.
 */
export async function serve(settings: ServeSettings, fetchOf: (url: string) => Promise<Fetch>) {
  const { host, port, tls, onBadCertificate } = settings;
  let answer: Fetch = () => new Response(null, { status: 503, headers: { "Retry-After": "1" } });
  const server = createServer(settings, (request, env) => answer(request, env));
  const listening = await listen(server, { host, port });
  const watching = tls && reloadTls(server as unknown as TlsServer, tls, { onRefused: onBadCertificate });
  const url = `${tls === undefined ? "http" : "https"}://${listening.host}:${listening.port}`;
  answer = await fetchOf(url);
  return {
    url,
    closeAfterResponses: listening.closeAfterResponses,
    async drain(deadlineMs: number): Promise<void> {
      listening.closeAfterResponses();
      watching?.stop();
      await listening.drain(deadlineMs);
    },
  };
}

function createServer({ tls, patienceMs = 60_000 }: ServeSettings, fetch: Fetch): Server {
  const options = {
    headersTimeout: patienceMs,
    requestTimeout: patienceMs,
    connectionsCheckingInterval: patienceMs / 4,
    keepAliveTimeout: idleHintMs,
    ...(tls && readTls(tls)),
  };
  const listener = getRequestListener(fetch, {
    // HTTP/1.0 may name none.
    hostname: "localhost",
    // The adapter's own faults. The app answers its faults itself.
    errorHandler: (error) =>
      error instanceof RequestError ? malformedResponse() : new Response(null, { status: 500 }),
  });
  return createHttpServer(options, { request: listener });
}

/** For what the adapter refuses: a host that makes no address with the request's target. */
const malformedResponse = (): Response =>
  Response.json(
    { error: { code: "invalid_request", message: "The request names no valid host." } } satisfies ErrorEnvelope,
    { status: 400, headers: { "Cache-Control": "no-store" } },
  );
