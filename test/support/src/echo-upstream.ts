import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request as it arrived. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  /** Names and values as sent, alternating, repeats included. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface EchoUpstream {
  readonly url: string;
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
  /** All bytes of all its connections, in order of arrival. */
  received(): Buffer;
  stop(): Promise<void>;
}

/**
 * An HTTP server that records its requests and returns them as JSON, unless `respond` responds.
 * @param respond called once the request is complete
 */
export async function startEchoUpstream(
  respond: (request: ReceivedRequest, response: ServerResponse) => void = echo,
): Promise<EchoUpstream> {
  const requests: ReceivedRequest[] = [];
  const chunks: Buffer[] = [];
  const listener: RequestListener = async (message, response) => {
    const request = await whole(message).catch(() => undefined);
    if (request === undefined) return;
    requests.push(request);
    respond(request, response);
  };
  const server = createServer(listener);
  server.on("connection", (socket) => socket.on("data", (chunk: Buffer) => chunks.push(chunk)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    received: () => Buffer.concat(chunks),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function whole(message: IncomingMessage): Promise<ReceivedRequest> {
  const body = Buffer.concat(await message.toArray());
  return { method: message.method ?? "", url: message.url ?? "", rawHeaders: message.rawHeaders, body };
}

function echo({ method, url, rawHeaders, body }: ReceivedRequest, response: ServerResponse): void {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ method, url, headers: rawHeaders, body: body.toString("utf8") }));
}
