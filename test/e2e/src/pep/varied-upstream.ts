import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";

export interface Arrived {
  readonly line: string;
  /** `name: value`, names in small letters, sorted. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

export interface VariedUpstream {
  readonly url: string;
  readonly arrived: Arrived[];
  stop(): Promise<void>;
}

export const large = Buffer.alloc(5 * 2 ** 20, "0123456789abcdef-");

type Answer = (response: ServerResponse, body: Buffer, request: IncomingMessage) => unknown;

/** One response for each way in which servers respond. */
const answers: Record<string, Answer> = {
  plain: (response) => response.writeHead(200, { "content-length": 5, "x-odd": "\u00e9" }).end("plain"),
  echo: (response, body) => response.writeHead(200, { "content-length": body.length }).end(body),
  repeated: (response) => response.writeHead(200, { "set-cookie": ["a=1", "b=2"], vary: "accept" }).end(),
  gzip: (response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("compressed")),
  async events(response) {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    for (let event = 0; event < 5; event++) {
      response.write(`id: ${event}\ndata: event\n\n`);
      await delay(2);
    }
    response.end();
  },
  trailers(response) {
    response.writeHead(200, { trailer: "x-sum" });
    response.write("summed");
    response.addTrailers({ "x-sum": "7" });
    response.end();
  },
  hints(response) {
    response.writeEarlyHints({ link: "</style.css>; rel=preload" });
    response.writeHead(200).end("hinted");
  },
  nothing: (response) => response.writeHead(204).end(),
  unchanged: (response) => response.writeHead(304, { etag: '"7"' }).end(),
  elsewhere: (response) => response.writeHead(307, { location: "/any/plain" }).end("moved"),
  missing: (response) => response.writeHead(404, { "content-type": "application/json" }).end('{"error":"missing"}'),
  broken: (response) => response.writeHead(500).end("broken"),
  async chunked(response) {
    for (const piece of ["one,", "two,", "three"]) {
      response.write(piece);
      await delay(2);
    }
    response.end();
  },
  range(response, _body, { headers }) {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? "") ?? [];
    const part = large.subarray(Number(from), Number(to) + 1);
    response.writeHead(206, { "content-range": `bytes ${from}-${to}/${large.length}` }).end(part);
  },
  large: (response) => response.writeHead(200, { "content-length": large.length }).end(large),
};

export async function startVariedUpstream(): Promise<VariedUpstream> {
  const arrived: Arrived[] = [];
  const server = createServer(async (request, response) => {
    const { method, url = "", rawHeaders } = request;
    const body = Buffer.concat(await request.toArray());
    const headers = rawHeaders.flatMap((name, at) =>
      at % 2 === 0 ? [`${name.toLowerCase()}: ${rawHeaders[at + 1]}`] : [],
    );
    arrived.push({ line: `${method} ${url}`, headers: headers.sort(), body });
    const answer = answers[url.split(/[/?]/)[2] ?? ""] ?? answers.missing;
    await answer?.(response, body, request);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrived,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
