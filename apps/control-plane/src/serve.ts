import { once } from "node:events";
import { readFileSync, watch } from "node:fs";
import { createServer as createPlainServer, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { createAdaptorServer } from "@hono/node-server";

export interface ServeSettings {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
  /** Told when changed certificate files cannot be used; the old ones keep serving. */
  readonly onBadCertificate: (error: unknown) => void;
}

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Serving {
  /** The address it listens on, as a URL without a path. */
  readonly url: string;
  /** Stops accepting, lets what is in flight finish until the deadline, then cuts it off. */
  drain(deadlineMs: number): Promise<void>;
}

type Fetch = (request: Request) => Response | Promise<Response>;

/** Listens; `fetchOf` is asked once the address is known, since the issuer may be named after it. */
export async function serve(settings: ServeSettings, fetchOf: (url: string) => Promise<Fetch>): Promise<Serving> {
  const { host, port, tls, onBadCertificate } = settings;
  let answer: Fetch = () => new Response(null, { status: 503, headers: { "Retry-After": "1" } });
  const server = createAdaptorServer({
    fetch: (request) => answer(request),
    ...(tls === undefined
      ? { createServer: createPlainServer }
      : { createServer: createTlsServer, serverOptions: readTls(tls) }),
  }) as Server;
  // Longer than a client's pool keeps a connection, so that it is the client who closes an idle one.
  server.keepAliveTimeout = 65_000;
  server.listen(port, host);
  await once(server, "listening");
  const stopWatching = tls === undefined ? () => {} : reloadTls(server as unknown as TlsServer, tls, onBadCertificate);
  const address = server.address() as AddressInfo;
  const shownHost = address.family === "IPv6" ? `[${address.address}]` : address.address;
  const url = `${tls === undefined ? "http" : "https"}://${shownHost}:${address.port}`;
  answer = await fetchOf(url);
  return {
    url,
    async drain(deadlineMs) {
      stopWatching();
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      const cut = setTimeout(() => server.closeAllConnections(), deadlineMs);
      await closed;
      clearTimeout(cut);
    },
  };
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
