import { plainText, pushedEvent, pushHeartbeat, pushQuery, toWire } from "@svc/core";
import type { Context } from "hono";
import type { PushReader, PushStart } from "../background/push-events.ts";
import { type ApiError, invalidRequest } from "../http/api-error.ts";
import { rateLimited } from "../http/authentication.ts";
import { acceptsEventStream, eventStream, eventsResponse, openEventStream, toEventText } from "../http/event-stream.ts";
import { type App, routesOf } from "../http/routes.ts";
import { iso } from "../http/times.ts";
import type { PushedEvent, PushPosition } from "../ports/pushed-events.ts";
import type { Deps } from "./deps.ts";

export function pushRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Identity");
  route("GET /v1/identity/revocations/stream", {
    access: "identity_or_enforcement",
    summary: "Follow revocations, blocks, ended sessions and key changes as server-sent events.",
    query: pushQuery,
    reply: {
      description: "Events; it ends only where `Accept` does not name its type.",
      schema: plainText,
      mediaType: eventStream,
    },
    errors: ["database_unavailable"],
    handle: ({ c, query: { since: sinceMs } }) => {
      const start = startOf(c.req.raw.headers.get("last-event-id"), sinceMs);
      const isOpen = c.req.raw.method === "GET" && acceptsEventStream(c.req.raw.headers.get("accept"));
      return isOpen ? follow(deps, c, start) : readOnce(deps, start);
    },
  });
}

/** What there is, and then the end: for a client that does not follow. */
async function readOnce({ push }: Deps, start: PushStart): Promise<Response> {
  const reader: PushReader = { take() {}, end() {} };
  const { take } = await push.join(reader, start);
  push.leave(reader);
  return eventsResponse(toText(...take));
}

/** Beside events, the reader gets its position so often. */
const heartbeatMs = 5_000;

async function follow({ push }: Deps, c: Context, start: PushStart): Promise<Response> {
  if (push.isFull()) throw rateLimited(1);
  const stream = openEventStream(() => push.leave(reader));
  let before = "";
  let isJoined = false;
  let writtenMs = performance.now();
  const write = (events: string) => {
    writtenMs = performance.now();
    if (stream.write(events)) return;
    reader.end();
    cut(c);
  };
  const reader: PushReader = {
    take(events, position, isLost) {
      if (!isLost && events.length === 0 && performance.now() - writtenMs < heartbeatMs) return;
      if (isJoined) write(toText(events, position, isLost));
      else before += toText(events, position, isLost);
    },
    end() {
      push.leave(reader);
      stream.end();
    },
  };
  const { take } = await push.join(reader, start);
  isJoined = true;
  write(toText(...take) + before);
  return stream.response;
}

/** The connection of a reader that reads too slowly. A test without a listener has none. */
function cut({ env }: Context): void {
  (env as { readonly outgoing?: { destroy(): void } } | undefined)?.outgoing?.destroy();
}

function toText(events: readonly PushedEvent[], position: PushPosition, isLost: boolean): string {
  const heartbeat = toWire(pushHeartbeat, { asOf: iso(position.asOfMs) });
  const reset = isLost ? toEventText("reset", {}) : "";
  return reset + events.map(eventText).join("") + toEventText("heartbeat", heartbeat as object, idOf(position));
}

function eventText({ eventId, kind, atMs, sessionId, agent, details }: PushedEvent): string {
  const block = details.kind && details.ref !== undefined ? { kind: details.kind, ref: details.ref } : null;
  const key = { kid: details.kid ?? null, notBefore: details.not_before ?? null };
  const told = { eventId, ts: iso(atMs), kind, sessionId, agent, block, ...key };
  return toEventText(kind, toWire(pushedEvent, told) as object);
}

/** The oldest open transaction and the time: what a client resumes from, at any process. */
const idOf = ({ oldestOpen, asOfMs }: PushPosition): string => `${oldestOpen}.${asOfMs}`;

/** Events of transactions are kept for a day, so an older id counts for its time. */
const idsLastMs = 72_000_000;

/** @throws {ApiError} `invalid_request` for an id that is none of this route's */
function startOf(lastEventId: string | null, sinceMs: number | undefined): PushStart {
  if (lastEventId === null || lastEventId === "") return { sinceMs };
  const [, transaction = "", asOf = ""] = /^(\d{1,18})\.(\d{1,15})$/.exec(lastEventId) ?? [];
  if (transaction === "") throw badId();
  return Date.now() - Number(asOf) > idsLastMs ? { sinceMs: Number(asOf) } : { transaction: BigInt(transaction) };
}

const badId = (): ApiError => invalidRequest("Last-Event-ID is no id of this stream.");
