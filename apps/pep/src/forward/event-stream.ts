import { type RawHeaders, valuesOf } from "../message/headers.ts";

export const isEventStream = (headers: RawHeaders): boolean =>
  valuesOf(headers, "content-type").some((type) => /^text\/event-stream\s*(?:;|$)/i.test(type));

/** An empty line ends an event (HTML standard: Server-sent events). */
const eventEnd = /(?:^|\n\n|\r\r|\r\n\r\n)$/;

/** Whether an event of our own can follow the bytes of an event stream so far. */
export function eventBoundary(headers: RawHeaders) {
  const isReadable = isEventStream(headers) && valuesOf(headers, "content-encoding").length === 0;
  let tail = "";
  return {
    push(chunk: Buffer) {
      if (isReadable) tail = (tail + chunk.subarray(-4).toString("latin1")).slice(-4);
    },
    isReached: () => isReadable && eventEnd.test(tail),
  };
}
