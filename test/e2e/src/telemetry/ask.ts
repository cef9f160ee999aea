import { request } from "node:http";

/** Name, value, ...: sent in this order, repeats included. */
export type HeaderList = readonly string[];

export interface Question {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>> | HeaderList;
  readonly body?: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a black-box test reads any response.
  readonly json: any;
}

/**
 * One request on its own connection, with path and headers unchanged.
 * @param target beginning with the path
 */
export function ask(base: string, target: string, { method = "GET", headers = {}, body }: Question = {}) {
  const { hostname, port, host } = new URL(base);
  const listed = Array.isArray(headers) ? headers : Object.entries(headers).flat();
  const length = body === undefined ? [] : ["content-length", String(Buffer.byteLength(body))];
  return new Promise<Answer>((resolve, reject) => {
    const sending = request(
      { hostname, port, path: target, method, agent: false, headers: ["host", host, ...listed, ...length] },
      (response) => {
        response.toArray().then((chunks) => {
          const text = Buffer.concat(chunks).toString("utf8");
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) });
        }, reject);
      },
    );
    sending.on("error", reject);
    // A refused CONNECT has a response like others, but Node emits another event.
    sending.on("connect", (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text: "", json: undefined });
    });
    sending.end(body);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
