/** Server-sent events (WHATWG HTML section 9.2). */
export const eventStream = "text/event-stream";

const headers = {
  "Content-Type": eventStream,
  "Cache-Control": "no-store",
  // nginx gathers answers otherwise.
  "X-Accel-Buffering": "no",
};

/** One event: its data in one line, as JSON has it. */
export const toEventText = (event: string, data: object, id?: string): string =>
  `event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;

/** Whether the request names the media type: then the answer stays open. */
export const acceptsEventStream = (accept: string | null): boolean =>
  (accept ?? "").split(",").some((range) => range.split(";")[0]?.trim().toLowerCase() === eventStream);

export interface EventStream {
  readonly response: Response;
  /** False for a reader that is too slow: nothing more is kept for it, and its connection must be cut. */
  write(text: string): boolean;
  /** After what was written. */
  end(): void;
}

/** A reader that is further behind is cut: its client resumes. */
const maxPendingCharacters = 262_144;

/** Text that waits for a slow reader is bounded. @param onGone once, when the reader closed the connection */
export function openEventStream(onGone: () => void): EventStream {
  let pending = "";
  let isEnded = false;
  let arrival = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (pending === "" && !isEnded) await arrival.promise;
        arrival = Promise.withResolvers();
        if (pending !== "") controller.enqueue(utf8.encode(pending));
        pending = "";
        if (isEnded) controller.close();
      },
      cancel() {
        isEnded = true;
        arrival.resolve();
        onGone();
      },
    },
    { highWaterMark: 0 },
  );
  return {
    response: new Response(body, { headers }),
    write(text) {
      if (isEnded) return true;
      if (pending.length > maxPendingCharacters) {
        pending = "";
        return false;
      }
      pending += text;
      arrival.resolve();
      return true;
    },
    end() {
      isEnded = true;
      arrival.resolve();
    },
  };
}

const utf8 = new TextEncoder();

export const eventsResponse = (text: string): Response => new Response(text, { headers });
