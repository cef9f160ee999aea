import { once } from "node:events";
import { Agent, request } from "node:http";
import type { Answer } from "../api.ts";

/** A request as sent: no client normalizes its target or headers. */
export interface WireRequest {
  readonly method: string;
  /** Path and query, already percent-encoded. */
  readonly target: string;
  /** Several values become several headers of that name. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | undefined;
}

export interface Wire {
  send(request: WireRequest): Promise<Answer>;
  close(): void;
}

/** Calls one server over kept-alive connections. */
export function openWire(url: string): Wire {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(url);
  return {
    async send({ method, target, headers, body }) {
      const sent = request({ agent, hostname, port, method, path: target });
      for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value);
      sent.end(body);
      const [response] = await once(sent, "response");
      response.setEncoding("utf8");
      let text = "";
      for await (const chunk of response) text += chunk;
      return { status: response.statusCode, headers: toHeaders(response.headers), text, body: parsed(text) };
    },
    close: () => agent.destroy(),
  };
}

const toHeaders = (headers: Record<string, string | string[] | undefined>): Headers =>
  new Headers(Object.entries(headers).flatMap(([name, value]) => (value ? [[name, String(value)]] : [])));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
