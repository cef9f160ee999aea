import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { Limits } from "../limits.ts";
import { createRelay, type RelayEnd, type RelayOptions } from "./relay.ts";

/** One request, ready to go: what was decided on is byte for byte what is sent. */
export interface Outgoing {
  readonly method: string;
  readonly path: string;
  /** Name, value, ... */
  readonly headers: string[];
  readonly body: Buffer | Readable | null;
}

export interface ForwardOptions extends RelayOptions {
  readonly limits: Pick<Limits, "upstreamHeadersMs" | "idleBodyMs">;
}

/**
 * Sends one request once and streams the answer back: no redirect, no retry, no decoding (contract: The forward path).
 * Never rejects.
 */
export function forward(
  upstream: Pick<Dispatcher, "dispatch">,
  outgoing: Outgoing,
  response: ServerResponse,
  options: ForwardOptions,
): Promise<RelayEnd> {
  const { method, path, headers, body } = outgoing;
  const { upstreamHeadersMs: headersTimeout } = options.limits;
  return new Promise((resolve) => {
    const relay = createRelay(response, options, resolve);
    // The relay watches the body itself, since event streams know no idle time.
    upstream.dispatch(
      { method: method as Dispatcher.HttpMethod, path, headers, body, headersTimeout, bodyTimeout: 0 },
      relay,
    );
  });
}
