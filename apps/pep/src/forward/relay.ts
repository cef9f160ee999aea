import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { Limits } from "../limits.ts";
import { isTransferReadable, pairs, type RawHeaders, responseVia, settledHeaders } from "../message/headers.ts";
import { countBodyBytes } from "../message/minor-gc.ts";
import { newBodyHeaders, withoutOldBody } from "../message/new-body.ts";
import { AgentGone, BodyWithdrawn } from "../message/streamed-body.ts";
import type { Answer } from "../message/write-answer.ts";
import type { UpstreamFault } from "../protocols/answers.ts";
import type { BodyFilter, ResponseFilter } from "../protocols/protocol.ts";
import type { AnswerHeaders } from "./answer-headers.ts";
import { eventBoundary, isEventStream } from "./event-stream.ts";
import { EndlessInterim, interimBudget, relayInterim } from "./interim-answers.ts";

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
  readonly onAnswered?: ((received: RawHeaders) => void) | undefined;
  /** The response is an event stream, and may last for hours. */
  readonly onEventStream?: ((status: number) => void) | undefined;
  readonly filterFor?: ResponseFilter | undefined;
}

export type RelayEnd =
  | { readonly kind: "answered"; readonly status: number }
  /** `status`: of the answer whose head the agent received. Without one the agent still waits. */
  | { readonly kind: "failed"; readonly fault: UpstreamFault; readonly status?: number; readonly error: Error }
  /** The upstream's answer cannot be passed on, and the agent waits for this one in its place. */
  | { readonly kind: "replaced"; readonly answer: Answer }
  /** A later decision stopped the call, or the end of its body. `status` as above. */
  | { readonly kind: "stopped"; readonly status?: number }
  | { readonly kind: "gone" };

export interface Relay {
  /** Never rejects. */
  readonly ended: Promise<RelayEnd>;
  /**
   * Ends the request and its answer. An agent without a head still waits for an answer; an event stream ends with
   * `lastEvent` where one can follow, and any other answer is cut.
   */
  stop(lastEvent: string | undefined): void;
  /** Adds an event to an event stream, after the event that is under way. */
  insert(event: string): void;
}

/**
 * Sends one request once and streams the answer back: no redirect, no retry, no decoding
 * (docs/reference/enforcement-point.md#steps-of-a-call).
 */
export function forward(
  upstream: Pick<Dispatcher, "dispatch">,
  { method, path, headers, body }: Outgoing,
  response: ServerResponse,
  options: RelayOptions,
): Relay {
  const { upstreamHeadersMs: headersTimeout } = options.limits;
  // The relay bounds the body's idle time itself: event streams have none.
  const request = { method: method as Dispatcher.HttpMethod, path, headers, body, headersTimeout, bodyTimeout: 0 };
  const { promise: ended, resolve } = Promise.withResolvers<RelayEnd>();
  const { handler, stop, insert } = createRelay(response, options, resolve);
  upstream.dispatch(request, handler);
  return { ended, stop, insert };
}

/** Streams an upstream's answer to the agent, no faster than the slower side. */
function createRelay(
  response: ServerResponse,
  options: RelayOptions,
  onEnd: (end: RelayEnd) => void,
): { handler: Dispatcher.DispatchHandler } & Pick<Relay, "stop" | "insert"> {
  const { limits, answerHeaders, onSent, onAnswered, onEventStream, filterFor } = options;
  let controller: Dispatcher.DispatchController | undefined;
  let filter: BodyFilter | undefined;
  let head: NodeJS.Timeout | undefined;
  let idle: NodeJS.Timeout | undefined;
  const interim = interimBudget();
  let boundary: ReturnType<typeof eventBoundary> | undefined;
  let status: number | undefined;
  let inserted = "";
  let isOver = false;

  const finish = (end: RelayEnd) => {
    if (isOver) return;
    isOver = true;
    clearTimeout(head);
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
    boundary?.push(chunk);
    if (chunk.length > 0 && !response.write(chunk)) controller?.pause();
  };
  const insert = (event: string) => {
    inserted += event;
    if (isOver || inserted === "" || !boundary?.isReached()) return;
    const events = Buffer.from(inserted);
    inserted = "";
    write(events);
  };
  const stop = (lastEvent: string | undefined) => {
    if (isOver) return;
    finish({ kind: "stopped", ...(status !== undefined && { status }) });
    abort(new CallStopped());
    if (status === undefined) return;
    if (lastEvent === undefined || !boundary?.isReached()) return void response.destroy();
    response.end(lastEvent);
    setTimeout(() => response.destroy(), lastEventMs).unref();
  };
  response.on("close", onClose).on("drain", onDrain);

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started;
      if (isOver) started.abort(new CallStopped());
      else onSent?.();
    },

    onResponseStart(_started, statusCode) {
      if (isOver) return;
      const received = toText(controller?.rawHeaders);
      const headers = answerHeaders(received);
      if (statusCode < 200) {
        return interim.takes(received) ? relayInterim(response, statusCode, headers) : abort(new EndlessInterim());
      }
      clearTimeout(head);
      if (!isTransferReadable(received)) return abort(new UnreadableTransfer());
      const filtered = filterFor?.(statusCode, received);
      if (filtered && "body" in filtered) {
        finish({ kind: "replaced", answer: filtered });
        return abort(new CallStopped());
      }
      filter = filtered;
      const kept = filter && !filter.keepsBody ? newBodyHeaders(headers) : headers;
      response.writeHead(statusCode, [...settledHeaders(kept, statusCode, response.req), ...responseVia]);
      status = statusCode;
      onAnswered?.(received);
      const isStream = isEventStream(headers);
      if (isStream) boundary = eventBoundary(headers);
      if (isStream) onEventStream?.(statusCode);
      // By then most answers arrived whole, and head and body are written together.
      setImmediate(() => {
        if (isOver) return;
        response.flushHeaders();
        if (!isStream) idle = setTimeout(() => abort(new UpstreamTimeout()), limits.idleBodyMs);
      });
    },

    onBodySent() {
      // An upstream may answer before the request ends.
      idle?.refresh();
    },

    onRequestSent() {
      // The dispatcher's own limit begins again with every interim answer.
      if (!isOver && status === undefined) {
        head = setTimeout(() => abort(new UpstreamTimeout()), limits.upstreamHeadersMs);
      }
    },

    onResponseData(_started, chunk) {
      if (isOver) return;
      idle?.refresh();
      countBodyBytes(chunk.length);
      write(filter ? filter.push(chunk) : chunk);
      insert("");
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
      if (isOver) return;
      if (error instanceof AgentGone) {
        response.destroy();
        return finish({ kind: "gone" });
      }
      // A truncated answer must not look complete.
      if (status !== undefined) response.destroy();
      const received = status === undefined ? {} : { status };
      if (error instanceof BodyWithdrawn) return finish({ kind: "stopped", ...received });
      finish({ kind: "failed", fault: faultOf(error), error, ...received });
    },
  };
  return { handler, stop, insert };
}

/** For an agent to read the last event of its stream. */
const lastEventMs = 5_000;

/** A later decision ended the call, or another answer replaces the upstream's. */
class CallStopped extends Error {
  override readonly name = "CallStopped";
}

/** The body has a transfer coding that was not asked for, and would pass without its name (RFC 9112 section 7). */
class UnreadableTransfer extends Error {
  override readonly name = "UnreadableTransfer";
}

/** Neither the head of the final answer nor a byte of its body came in time. */
class UpstreamTimeout extends Error {
  override readonly name = "UpstreamTimeout";
}

const timeouts: readonly unknown[] = ["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "UND_ERR_CONNECT_TIMEOUT"];

const faultOf = (error: Error & { code?: unknown }): UpstreamFault =>
  error instanceof UpstreamTimeout || timeouts.includes(error.code) ? "upstream_timeout" : "upstream_unreachable";

/** Latin-1 on both sides passes header bytes unchanged (RFC 9110 section 5.5). */
const toText = (raw: Dispatcher.DispatchController["rawHeaders"]): string[] =>
  Array.isArray(raw) ? raw.map((part) => (typeof part === "string" ? part : part.toString("latin1"))) : [];
