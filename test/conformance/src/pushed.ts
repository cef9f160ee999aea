import { once } from "node:events";
import { connect } from "node:net";

/** One server-sent event. */
export interface Pushed {
  readonly event: string;
  readonly id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: a black-box test reads any event.
  readonly data: any;
}

/** The events of a whole text. */
export const toPushed = (text: string): readonly Pushed[] =>
  text
    .split("\n\n")
    .filter((each) => each !== "")
    .map((block) => {
      const field = (name: string) =>
        block
          .split("\n")
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2);
      return { event: field("event") ?? "", id: field("id"), data: JSON.parse(field("data") ?? "null") };
    });

export interface FollowOptions {
  readonly bearer: string;
  readonly since?: string;
  readonly lastEventId?: string | undefined;
}

/** Follows the push of a control plane until `close`. */
export async function follow(url: string, { bearer, since, lastEventId }: FollowOptions) {
  const aborting = new AbortController();
  const query = since === undefined ? "" : `?${new URLSearchParams({ since })}`;
  const response = await fetch(`${url}/v1/identity/revocations/stream${query}`, {
    headers: {
      authorization: `Bearer ${bearer}`,
      accept: "text/event-stream",
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    },
    redirect: "manual",
    signal: aborting.signal,
  });
  const received: Pushed[] = [];
  let rest = "";
  const ended = (async () => {
    for await (const text of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      const whole = (rest + text).split("\n\n");
      rest = whole.pop() ?? "";
      received.push(...toPushed(whole.join("\n\n")));
    }
  })().catch(() => {});
  return {
    status: response.status,
    headers: response.headers,
    received,
    /** Without heartbeats. */
    events: () => received.filter(({ event }) => event !== "heartbeat"),
    lastId: () => received.findLast(({ id }) => id !== undefined)?.id,
    /** Resolves where the control plane ends it. */
    ended,
    async close() {
      aborting.abort();
      await ended;
    },
  };
}

/** A connection that never reads. */
export async function openWithoutReading(url: string, bearer: string) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let isCut = false;
  // A cut connection is reset.
  socket.on("error", () => {
    isCut = true;
  });
  await once(socket, "connect");
  socket.write(
    `GET /v1/identity/revocations/stream HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nauthorization: Bearer ${bearer}\r\n\r\n`,
  );
  socket.pause();
  return {
    /** A socket that does not read sees a reset when it writes: here an empty line, which HTTP ignores between requests. */
    isCut: () => {
      socket.write("\r\n");
      return isCut;
    },
    close: () => void socket.destroy(),
  };
}
