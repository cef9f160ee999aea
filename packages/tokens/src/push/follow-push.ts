import { eventReader, type SentEvent } from "./event-text.ts";

/** What `fetch` returns, as far as it is read here. */
interface PushResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
}

interface PushRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly redirect: "manual";
  readonly signal: AbortSignal;
}

export interface PushPorts {
  readonly fetch: (url: string, request: PushRequest) => Promise<PushResponse>;
  /** In [0, 1): spreads the connections of readers that were cut together. */
  readonly random: () => number;
  /** Runs once after `ms`; returns how to cancel. */
  readonly after: (ms: number, run: () => void) => () => void;
}

export interface FollowPush {
  /** Of the stream (docs/reference/identity.md#push). */
  readonly url: string;
  readonly token: string;
  /** Where it begins without a position, in milliseconds since the epoch; absent: now. */
  readonly sinceMs?: () => number;
  /** A position that was received before. */
  readonly lastEventId?: string | undefined;
  readonly signal: AbortSignal;
  /** Why it is not connected; it tries again, unless this throws. */
  readonly onFailure: (error: unknown) => void;
}

/** The stream is refused, or is none. The message names no address and no credential. */
export class PushFault extends Error {
  override readonly name = "PushFault";
  /** Of an answer that was none of the stream's. */
  readonly status: number | undefined;

  constructor(problem: string, status?: number) {
    super(`push: ${problem}`);
    this.status = status;
  }
}

/** Three heartbeats. */
const silenceMs = 15_000;
const firstRetryMs = 250;
const longestRetryMs = 30_000;

/** Events that may still concern a token: a minute and the leeway, and some for the connection. */
export const pushConcernsMs = 70_000;

/** Follows the push until `signal` aborts. After a cut it continues from the last position that it received. */
export async function* followPush(ports: PushPorts, follow: FollowPush): AsyncGenerator<SentEvent, void> {
  const { signal, onFailure } = follow;
  let { lastEventId } = follow;
  let failures = 0;
  while (!signal.aborted) {
    let isEmpty = true;
    try {
      for await (const event of readOnce(ports, { ...follow, lastEventId })) {
        isEmpty = false;
        failures = 0;
        lastEventId = event.id ?? lastEventId;
        yield event;
      }
      // The control plane's stream begins with a heartbeat.
      if (isEmpty) throw new PushFault("an empty stream");
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      // An id that is refused would be refused for ever.
      if (error instanceof PushFault && error.status === 400) lastEventId = undefined;
      onFailure(error);
    }
    if (!signal.aborted) await pause(ports, Math.min(longestRetryMs, firstRetryMs * 2 ** failures), signal);
  }
}

/** One connection. @throws {PushFault} for another answer, and what `fetch` throws */
async function* readOnce(ports: PushPorts, follow: FollowPush): AsyncGenerator<SentEvent, void> {
  const cutting = new AbortController();
  const cut = () => cutting.abort();
  follow.signal.addEventListener("abort", cut, { once: true });
  /** A connection that brings no event is as good as cut, also one that brings bytes. */
  const beforeSilence = async <T>(next: Promise<T>): Promise<T> => {
    const cancel = ports.after(silenceMs, cut);
    return next.finally(cancel);
  };
  try {
    const { status, headers, body } = await beforeSilence(
      ports.fetch(addressOf(follow), { headers: headersOf(follow), redirect: "manual", signal: cutting.signal }),
    );
    if (status !== 200) throw new PushFault(`status ${status}`, status);
    if (!body || !headers.get("content-type")?.startsWith("text/event-stream")) throw new PushFault("no event stream");
    const readEvents = eventsIn(body);
    for (let next = await beforeSilence(readEvents()); next; next = await beforeSilence(readEvents())) yield* next;
  } finally {
    follow.signal.removeEventListener("abort", cut);
    cut();
  }
}

/** @returns a function that reads until an event is complete; undefined at the end of the body */
function eventsIn(body: AsyncIterable<Uint8Array>): () => Promise<readonly SentEvent[] | undefined> {
  const decoder = new TextDecoder();
  const read = eventReader();
  const pieces = body[Symbol.asyncIterator]();
  return async () => {
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
      const events = read(decoder.decode(next.value, { stream: true }));
      if (events.length > 0) return events;
    }
    return undefined;
  };
}

/** Where to begin is asked for by the id, or else by the time. */
function addressOf({ url, sinceMs, lastEventId }: FollowPush): string {
  const since = lastEventId === undefined ? sinceMs?.() : undefined;
  return since === undefined ? url : `${url}?since=${new Date(since).toISOString()}`;
}

const headersOf = ({ token, lastEventId }: FollowPush) => ({
  accept: "text/event-stream",
  authorization: `Bearer ${token}`,
  ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
});

/** From half of `ms` to one and a half times as long. */
function pause({ random, after }: PushPorts, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      cancel();
      signal.removeEventListener("abort", over);
      resolve();
    };
    const cancel = after(ms * (0.5 + random()), over);
    signal.addEventListener("abort", over, { once: true });
  });
}
