import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createServer } from "@modelcontextprotocol/server-everything/dist/server/index.js";

export interface Served {
  /** Without a slash at its end. */
  readonly url: string;
  close(): void;
}

export async function serve(handle: RequestListener): Promise<Served> {
  const server = createHttpServer(handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The reference server over Streamable HTTP, on loopback alone. */
export const startEverything = (): Promise<Served> =>
  serve(async (request, response) => {
    const { server, cleanup } = createServer();
    const transport = new StreamableHTTPServerTransport({});
    response.on("close", () => cleanup());
    await server.connect(transport as Parameters<typeof server.connect>[0]);
    await transport.handleRequest(request, response);
  });

const filesystem = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"));

/** The command line of the reference file server. */
export const fileServer = (folder: string): string => `"${process.execPath}" "${filesystem}" "${folder}"`;
