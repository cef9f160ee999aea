import { Agent, type IncomingMessage, request } from "node:http";

/** An application's request, the same with and without an enforcement point. */
export interface AppRequest {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: readonly string[];
  readonly body?: Buffer | readonly string[];
}

/** All that an application can see of a response. */
export interface Seen {
  readonly interim: readonly { status: number; link: unknown }[];
  readonly status: number;
  /** `name: value`, names in small letters, sorted. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  readonly trailers: readonly string[];
}

/** Destination of requests: a base address, or a proxy for the absolute form. */
export interface Way {
  readonly url: string;
  readonly pathOf: (path: string) => string;
}

const lines = (raw: readonly string[]): string[] =>
  raw.flatMap((name, at) => (at % 2 === 0 ? [`${name.toLowerCase()}: ${raw[at + 1]}`] : [])).sort();

/** Headers that each intermediary sets for itself. */
const ofTheConnection = /^(via|date|connection|keep-alive): /;

export function whole({ url, pathOf }: Way, { method, path, headers = [], body }: AppRequest): Promise<Seen> {
  const agent = new Agent();
  const interim: { status: number; link: unknown }[] = [];
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method, path: pathOf(path), headers: ["host", new URL(url).host, ...headers] });
    sent.on("information", ({ statusCode, headers }) => interim.push({ status: statusCode, link: headers.link }));
    sent.on("error", reject);
    sent.on("response", (response: IncomingMessage) => {
      response.toArray().then((pieces) => {
        agent.destroy();
        resolve({
          interim,
          status: response.statusCode ?? 0,
          headers: lines(response.rawHeaders).filter((line) => !ofTheConnection.test(line)),
          body: Buffer.concat(pieces),
          trailers: lines(response.rawTrailers),
        });
      }, reject);
    });
    const send = () => {
      for (const piece of Array.isArray(body) ? body : []) sent.write(piece);
      sent.end(Buffer.isBuffer(body) ? body : undefined);
    };
    if (headers.includes("100-continue")) sent.on("continue", send);
    else send();
  });
}
