import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { type StreamOptions, streamedBody } from "./streamed-body.ts";

/** `longer`: over the cap; `late`: its time is over; `gone`: the agent disconnected. */
export type BodyReading = "whole" | "longer" | "late" | "gone";

/** `idleMs`: milliseconds without a byte; `withinMs`: milliseconds for the whole body. */
export type ReadLimits = { readonly capBytes: number } & (
  | { readonly idleMs: number; readonly withinMs?: never }
  | { readonly withinMs: number; readonly idleMs?: never }
);

export type RequestBody = ReturnType<typeof requestBody>;

/**
 * The body of one request: read into memory up to a cap, and streamed from there.
 * @param beforeReading called once, before the first byte is read: the moment for `100 Continue`
 */
export function requestBody(request: IncomingMessage, beforeReading: () => void) {
  const { "content-length": length, "transfer-encoding": coding } = request.headers;
  const isAbsent = coding === undefined && (length === undefined || Number(length) === 0);
  const chunks: Buffer[] = [];
  let bytes = 0;
  let hasEnded = isAbsent;
  let hasBegun = isAbsent;
  let awaitedMs = 0;

  const begin = () => {
    if (!hasBegun) beforeReading();
    hasBegun = true;
  };

  /** Reads to the end, or to one of the limits. Can be called again. */
  const read = ({ capBytes, idleMs, withinMs }: ReadLimits): Promise<BodyReading> => {
    if (hasEnded) return Promise.resolve(bytes > capBytes ? "longer" : "whole");
    if (Number(length) > capBytes || bytes > capBytes) return Promise.resolve("longer");
    if (request.destroyed) return Promise.resolve("gone");
    begin();
    const startedMs = performance.now();
    return new Promise((resolve) => {
      const stop = (reading: BodyReading) => {
        clearTimeout(limit);
        awaitedMs += performance.now() - startedMs;
        request.pause().off("data", onData).off("end", onEnd).off("close", onClose);
        resolve(reading);
      };
      const onData = (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (withinMs === undefined) limit.refresh();
        if (bytes > capBytes) stop("longer");
      };
      const onEnd = () => {
        hasEnded = true;
        stop("whole");
      };
      const onClose = () => stop("gone");
      const limit = setTimeout(stop, withinMs ?? idleMs, "late");
      request.on("data", onData).on("end", onEnd).on("close", onClose).resume();
    });
  };

  return {
    /** The request declares none. */
    isAbsent,
    /** Everything was read. */
    isWhole: () => hasEnded,
    /** Milliseconds that `read` waited for the agent. */
    awaitedMs: () => awaitedMs,
    read,
    /** The bytes read so far; the whole body after `whole`. */
    bytes: () => Buffer.concat(chunks),
    /** The whole body, from its first byte. */
    stream(options: StreamOptions): Readable {
      begin();
      return streamedBody(request, { chunks, hasEnded }, options);
    },
  };
}
