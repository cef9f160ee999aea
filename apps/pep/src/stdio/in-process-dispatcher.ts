import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { AnswerSink, BridgedRequest } from "./answer.ts";

/** Bytes for an agent that reads slower than its server writes. */
const maxQueuedBytes = 32 * 1024 * 1024;

/** Longer request bodies are read to their end and given as `undefined`. */
export interface BridgeOptions {
  readonly maxBodyBytes: number;
  readonly handle: (
    request: Omit<BridgedRequest, "body"> & { body: Buffer | undefined },
    answer: AnswerSink,
  ) => unknown;
}

/**
 * Serves requests in this process, by the interface of a connection to an upstream: forwarding, limits and streams are
 * the same code, and no socket exists that another process could reach.
 */
export const inProcessDispatcher = (options: BridgeOptions): Pick<Dispatcher, "dispatch"> => ({
  dispatch(request, handler) {
    void serve(request, handler, options);
    return true;
  },
});

async function serve(
  { method, headers, body }: Dispatcher.DispatchOptions,
  handler: Dispatcher.DispatchHandler,
  { maxBodyBytes, handle }: BridgeOptions,
): Promise<void> {
  const exchange = createExchange(handler);
  const { controller } = exchange;
  handler.onRequestStart?.(controller, {});
  try {
    const bytes = await wholeBody(body, maxBodyBytes);
    if (controller.aborted) return;
    handler.onRequestSent?.();
    await handle({ method, headers: Array.isArray(headers) ? headers.map(String) : [], body: bytes }, exchange.answer);
  } catch (error) {
    controller.abort(error instanceof Error ? error : new Error("the body cannot be read"));
  }
}

async function wholeBody(body: Dispatcher.DispatchOptions["body"], maxBytes: number): Promise<Buffer | undefined> {
  if (Buffer.isBuffer(body)) return body.length > maxBytes ? undefined : body;
  if (!(body instanceof Readable)) return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
  }
  return bytes > maxBytes ? undefined : Buffer.concat(chunks);
}

function createExchange(handler: Dispatcher.DispatchHandler) {
  let isOver = false;
  let hasEnded = false;
  let queued: Buffer[] = [];
  let queuedBytes = 0;
  let gone: (() => void) | undefined;

  const flush = () => {
    const [chunks, ends] = [queued, hasEnded];
    queued = [];
    queuedBytes = 0;
    for (const chunk of chunks) write(chunk);
    if (ends && queued.length === 0 && !isOver) finish();
  };
  const finish = () => {
    isOver = true;
    handler.onResponseEnd?.(controller, {});
  };
  const write = (chunk: Buffer) => {
    if (isOver) return;
    if (!controller.paused) return handler.onResponseData?.(controller, chunk);
    queued.push(chunk);
    queuedBytes += chunk.length;
    if (queuedBytes > maxQueuedBytes) controller.abort(new Error("the agent reads too slowly"));
  };
  const controller = {
    rawHeaders: [] as string[],
    rawTrailers: [],
    aborted: false,
    paused: false,
    reason: null as Error | null,
    abort(error: Error) {
      if (isOver) return;
      isOver = true;
      controller.aborted = true;
      controller.reason = error;
      queued = [];
      gone?.();
      handler.onResponseError?.(controller, error);
    },
    pause() {
      controller.paused = true;
    },
    resume() {
      controller.paused = false;
      flush();
    },
  };
  const answer: AnswerSink = {
    head(status, headers) {
      if (isOver) return;
      controller.rawHeaders = [...headers];
      handler.onResponseStart?.(controller, status, {});
    },
    write,
    end() {
      if (isOver || hasEnded) return;
      hasEnded = true;
      if (queued.length === 0) finish();
    },
    onGone(run) {
      if (!controller.aborted) gone = run;
      else run();
    },
  };
  return { controller, answer };
}
