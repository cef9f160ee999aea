import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";

export interface SinkRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly status: number;
}

export interface SinkAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** `late`: 200 when the sender no longer waits. `endless`: 200 at once, and a body without an end. */
export type Answering = (request: Omit<SinkRequest, "status">) => SinkAnswer | "late" | "endless";

/** A real receiver over HTTP. It keeps every message, taken or not. */
export async function startSinkReceiver() {
  const requests: SinkRequest[] = [];
  let answering: Answering = () => ({ status: 204 });
  const server = createServer(async (incoming, response) => {
    const { headers } = incoming;
    const body = await buffer(incoming);
    const answer = answering({ headers, body });
    if (answer === "late") {
      await delay(1_000, undefined, { ref: false });
      return response.writeHead(200).end();
    }
    if (answer === "endless") return response.writeHead(200).write(" ");
    requests.push({ headers, body, status: answer.status });
    return response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const taken = (): readonly SinkRequest[] => requests.filter(({ status }) => status < 300);
  return {
    url: new URL(`http://127.0.0.1:${port}/sink`),
    requests,
    taken,
    /** Lines of all messages that were taken, in the order of their arrival. */
    lines: (): readonly string[] => taken().flatMap(({ body }) => body.toString().trimEnd().split("\n")),
    answer(next: Answering): void {
      answering = next;
    },
    reset(): void {
      requests.length = 0;
      answering = () => ({ status: 204 });
    },
    async stop(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
