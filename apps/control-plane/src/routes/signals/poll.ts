import { setTimeout as delay } from "node:timers/promises";
import { pollRequest } from "@svc/core";
import {
  disabledEvent,
  ownTransmitted,
  signEvent,
  transmittedEvent,
} from "../../commands/signals/transmitted-event.ts";
import { type App, jsonResponse, routesOf } from "../../http/routes.ts";
import type { SignalStream, WaitingEvent } from "../../ports/signal-streams.ts";
import type { Deps } from "../deps.ts";
import { refuse } from "./refuse.ts";

/** Within what a draining process gives its calls. */
const holdMs = 10_000;
const lookEveryMs = 500;
/** As many as are in view at once. */
const mostEvents = 100;

/** RFC 8936: a receiver fetches its events, and answers earlier ones. One that it refuses is not sent again. */
export function pollRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Shared signals");
  route("POST /v1/signals/streams/{stream_id}/poll", {
    access: "identity",
    summary: "Fetch what waits on the stream.",
    body: pollRequest,
    reply: { description: "Events that wait." },
    handle: async ({ c, caller: { label: receiver }, params: { streamId }, body }) => {
      const { maxEvents = mostEvents, returnImmediately, ack, setErrs } = body;
      const answered = new Set([...ack, ...Object.keys(setErrs)]);
      const until = performance.now() + (returnImmediately || maxEvents === 0 ? 0 : holdMs);
      for (;;) {
        const stream = await deps.signalStreams.find(receiver);
        if (stream === undefined || stream.streamId !== streamId || stream.endpointUrl !== null) {
          return refuse(404, "stream_not_found", "This bearer's label has no such stream by poll.");
        }
        const waiting = await waitingOn(deps, stream, answered);
        const isOver = performance.now() >= until || c.req.raw.signal.aborted;
        if (waiting.length === 0 && !isOver) await delay(lookEveryMs);
        else return answer(deps, stream, waiting, Math.min(maxEvents, mostEvents));
      }
    },
  });
}

type Transmitted = NonNullable<ReturnType<typeof transmittedEvent>>;

/** What is left after these answers. */
async function waitingOn(
  deps: Deps,
  stream: SignalStream,
  answered: ReadonlySet<string>,
): Promise<readonly Transmitted[]> {
  const { ownEvent, streamId } = stream;
  const ofStream = ownEvent === null || answered.has(ownEvent.eventId) ? [] : [ownTransmitted(ownEvent, stream)];
  if (ownEvent !== null && ofStream.length === 0) {
    await deps.signalStreams.clearOwnEvent(streamId, ownEvent.eventId);
  }
  const toSet = (event: WaitingEvent) => transmittedEvent(event, stream, deps.issuer);
  const isSettled = (event: WaitingEvent) => answered.has(event.eventId) || toSet(event) === undefined;
  const open = await deps.signalStreams.settle({ streamId }, isSettled, disabledEvent(deps));
  return [...ofStream, ...open.flatMap((event) => toSet(event) ?? [])];
}

async function answer(deps: Deps, stream: SignalStream, waiting: readonly Transmitted[], most: number) {
  const sent = waiting.slice(0, most);
  const sets = await Promise.all(sent.map(async (event) => [event.eventId, await signEvent(deps, stream, event)]));
  const moreAvailable = waiting.length > sent.length;
  return jsonResponse({ sets: Object.fromEntries(sets), ...(moreAvailable && { moreAvailable }) });
}
