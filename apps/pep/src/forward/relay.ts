import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { Limits } from "../limits.ts";
import { pairs, type RawHeaders, responseVia, settledHeaders, valuesOf } from "../message/headers.ts";
import { countBodyBytes } from "../message/minor-gc.ts";
import { newBodyHeaders, withoutOldBody } from "../message/new-body.ts";
import { AgentGone, BodyWithdrawn } from "../message/streamed-body.ts";
import type { Answer } from "../message/write-answer.ts";
import type { UpstreamFault } from "../protocols/answers.ts";
import type { BodyFilter, ResponseFilter } from "../protocols/protocol.ts";
import type { AnswerHeaders } from "./answer-headers.ts";

/** One request as it will be sent, byte for byte what was decided on. */
export interface Outgoing {
  readonly method: string;
  readonly path: string;
  /** Name, value, ... */
  readonly headers: string[];
  readonly body: Buffer | Readable | null;
}

export interface RelayOptions {
  readonly limits: Pick<Limits, "upstreamHeadersMs" | "idleBodyMs">;
  readonly answerHeaders: AnswerHeaders;
  /** The request is written to a connection. */
  readonly onSent?: (() => void) | undefined;
  /** The head of the final answer arrived. */
  readonly onAnswered?: (() => void) | undefined;
  /** The response is an event stream; `close` ends it. */
  readonly onEventStream?: ((status: number, close: () => void) => void) | undefined;
  readonly filterFor?: ResponseFilter | undefined;
}

export type RelayEnd =
  | { readonly kind: "answered"; readonly status: number }
  /** `status`: of the answer whose head the agent received. Without one the agent still waits. */
  | { readonly kind: "failed"; readonly fault: UpstreamFault; readonly status?: number; readonly error: Error }
  /** The upstream's answer cannot be passed on, and the agent waits for this one in its place. */
  | { readonly kind: "replaced"; readonly answer: Answer }
  /** The body was not allowed to end. */
  | { readonly kind: "withdrawn" }
  | { readonly kind: "gone" };

/**
 * Sends one request once and streams the answer back: no redirect, no retry, no decoding
 * (docs/reference/enforcement-point.md#steps-of-a-call). Never rejects.
 */
export function forward(
  upstream: Pick<Dispatcher, "dispatch">,
  { method, path, headers, body }: Outgoing,
  response: ServerResponse,
  options: RelayOptions,
): Promise<RelayEnd> {
  const { upstreamHeadersMs: headersTimeout } = options.limits;
  return new Promise((resolve) => {
    // The relay bounds the body's idle time itself: event streams have none.
    const request = { method: method as Dispatcher.HttpMethod, path, headers, body, headersTimeout, bodyTimeout: 0 };
    upstream.dispatch(request, createRelay(response, options, resolve));
  });
}

/** Streams an upstream's answer to the agent, no faster than the slower side. */
function createRelay(
  response: ServerResponse,
  options: RelayOptions,
  onEnd: (end: RelayEnd) => void,
): Dispatcher.DispatchHandler {
  const { limits, answerHeaders, onSent, onAnswered, onEventStream, filterFor } = options;
  let controller: Dispatcher.DispatchController | undefined;
  let filter: BodyFilter | undefined;
  let idle: NodeJS.Timeout | undefined;
  let status: number | undefined;
  let isOver = false;

  const finish = (end: RelayEnd) => {
    if (isOver) return;
    isOver = true;
    clearTimeout(idle);
    response.off("close", onClose).off("drain", onDrain);
    onEnd(end);
  };
  /** A queued request has no controller yet: `onRequestStart` aborts it. */
  const abort = (reason: Error) => controller?.abort(reason);
  const onClose = () => {
    finish({ kind: "gone" });
    abort(new AgentGone());
  };
  const onDrain = () => {
    idle?.refresh();
    controller?.resume();
  };
  const write = (chunk: Buffer) => {
    if (chunk.length > 0 && !response.write(chunk)) controller?.pause();
  };
  response.on("close", onClose).on("drain", onDrain);

  return {
    onRequestStart(started) {
      controller = started;
      if (isOver) started.abort(new AgentGone());
      else onSent?.();
    },

    onResponseStart(_started, statusCode) {
      if (isOver) return;
      const received = toText(controller?.rawHeaders);
      const headers = answerHeaders(received);
      if (statusCode < 200) return relayInterim(response, statusCode, headers);
      const filtered = filterFor?.(statusCode, received);
      if (filtered && "body" in filtered) {
        finish({ kind: "replaced", answer: filtered });
        return abort(new AnswerReplaced());
      }
      filter = filtered;
      const kept = filter ? newBodyHeaders(headers) : headers;
      response.writeHead(statusCode, [...settledHeaders(kept, statusCode, response.req), ...responseVia]);
      status = statusCode;
      onAnswered?.();
      const isStream = isEventStream(headers);
      if (isStream) onEventStream?.(statusCode, () => response.destroy());
      // By then most answers arrived whole, and head and body are written together.
      setImmediate(() => {
        if (isOver) return;
        response.flushHeaders();
        if (!isStream) idle = setTimeout(() => abort(new IdleUpstream()), limits.idleBodyMs);
      });
    },

    onBodySent() {
      // An upstream may answer before the request ends.
      idle?.refresh();
    },

    onResponseData(_started, chunk) {
      if (isOver) return;
      idle?.refresh();
      countBodyBytes(chunk.length);
      write(filter ? filter.push(chunk) : chunk);
    },

    onResponseEnd() {
      // A refusing egress proxy is reported as an error before its answer ends.
      if (isOver) return;
      if (filter) write(filter.end());
      const received = toText(controller?.rawTrailers);
      const trailers = answerHeaders(received);
      if (received.length > 0) response.addTrailers(pairs(filter ? withoutOldBody(trailers) : trailers));
      response.end();
      finish({ kind: "answered", status: status ?? 0 });
    },

    onResponseError(_started, error) {
      if (error instanceof AnswerReplaced) return;
      if (error instanceof AgentGone) {
        response.destroy();
        return finish({ kind: "gone" });
      }
      // A truncated answer must not look complete.
      if (status !== undefined) response.destroy();
      if (error instanceof BodyWithdrawn) return finish({ kind: "withdrawn" });
      finish({ kind: "failed", fault: faultOf(error), error, ...(status !== undefined && { status }) });
    },
  };
}

/** Nothing is read any more of an answer that another replaces. */
class AnswerReplaced extends Error {
  override readonly name = "AnswerReplaced";
}

/** No byte passed for too long. */
class IdleUpstream extends Error {
  override readonly name = "IdleUpstream";
}

const timeouts: readonly unknown[] = ["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "UND_ERR_CONNECT_TIMEOUT"];

const faultOf = (error: Error & { code?: unknown }): UpstreamFault =>
  error instanceof IdleUpstream || timeouts.includes(error.code) ? "upstream_timeout" : "upstream_unreachable";

const isEventStream = (headers: RawHeaders): boolean =>
  valuesOf(headers, "content-type").some((type) => /^text\/event-stream\s*(?:;|$)/i.test(type));

/** Latin-1 on both sides passes header bytes unchanged (RFC 9110 section 5.5). */
const toText = (raw: Dispatcher.DispatchController["rawHeaders"]): string[] =>
  Array.isArray(raw) ? raw.map((part) => (typeof part === "string" ? part : part.toString("latin1"))) : [];

/** Passes 102, 103 and the like on; `100 Continue` belongs to each connection. Node before 26 cannot send them. */
function relayInterim(response: ServerResponse, status: number, headers: string[]): void {
  // An HTTP/1.0 client reads it as the final answer (RFC 9110 section 15.2).
  if (status === 100 || response.req.httpVersion === "1.0" || !("writeInformation" in response)) return;
  const fields: Record<string, string[]> = {};
  for (const [name, value] of pairs(headers)) fields[name] = [...(fields[name] ?? []), value];
  response.writeInformation(status, fields);
}
