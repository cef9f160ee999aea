import {
  eventTypes,
  pollDelivery,
  pushDelivery,
  streamChange,
  streamCreate,
  streamQuery,
  streamStatusChange,
  streamVerification,
} from "@svc/core";
import type { BodyOf } from "../../commands/deps.ts";
import { transmittedTypes } from "../../commands/signals/transmitted-event.ts";
import { invalidRequest } from "../../http/api-error.ts";
import { type App, jsonResponse, routesOf } from "../../http/routes.ts";
import type { SignalStream } from "../../ports/signal-streams.ts";
import type { Deps } from "../deps.ts";
import { signalsAt } from "./metadata.ts";
import { refuse } from "./refuse.ts";
import { given, settingsOf, suppliedOf } from "./stream-settings.ts";

const path = "/v1/signals/streams";
const described = { reply: { description: "The stream." } } as const;

/** Stream management (OpenID Shared Signals Framework 1.0). A receiver is the label of its bearer, and has one stream. */
export function streamRoutes(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Shared signals");
  const { signalStreams } = deps;
  const own = async (receiver: string, streamId: string | undefined): Promise<SignalStream | undefined> => {
    const found = await signalStreams.find(receiver);
    return found?.streamId === streamId ? found : undefined;
  };

  route(`POST ${path}`, {
    ...described,
    access: "identity",
    summary: "Create the receiver's stream.",
    body: streamCreate,
    handle: async ({ caller: { label: receiver }, body }) => {
      const streamId = deps.ids.next();
      const settings = await settingsOf(deps, body);
      const isNew = await signalStreams.create({ ...settings, streamId, receiver });
      if (!isNew)
        return refuse(409, "stream_exists", "This bearer's label has a stream: change that one, or delete it.");
      return show(deps, await signalStreams.find(receiver), 201);
    },
  });

  route(`GET ${path}`, {
    ...described,
    access: "identity",
    summary: "Read the receiver's stream, or the list of its one.",
    query: streamQuery,
    handle: async ({ caller: { label: receiver }, query: { streamId } }) => {
      if (streamId !== undefined) return show(deps, await own(receiver, streamId));
      const found = await signalStreams.find(receiver);
      return jsonResponse(found === undefined ? [] : [toWire(deps, found)]);
    },
  });

  for (const method of ["PATCH", "PUT"] as const) {
    route(`${method} ${path}`, {
      ...described,
      access: "identity",
      summary: "Change the stream, or replace its configuration.",
      body: streamChange,
      handle: async ({ caller: { label: receiver }, body }) => {
        const found = await own(receiver, body.streamId);
        if (found === undefined) return noStream();
        requireOurs(body, deps, found);
        const before = method === "PUT" ? {} : await suppliedOf(deps, found);
        await signalStreams.configure(found.streamId, await settingsOf(deps, { ...before, ...given(body) }));
        return show(deps, await own(receiver, body.streamId));
      },
    });
  }

  route(`DELETE ${path}`, {
    reply: { status: 204, description: "Deleted." },
    access: "identity",
    summary: "Delete the stream.",
    query: streamQuery,
    handle: async ({ caller: { label: receiver }, query: { streamId } }) => {
      const found = await own(receiver, streamId);
      if (found === undefined) return noStream();
      await signalStreams.remove(found.streamId);
    },
  });

  route("GET /v1/signals/status", {
    ...described,
    access: "identity",
    summary: "Read the stream's status.",
    query: streamQuery,
    handle: async ({ caller: { label: receiver }, query: { streamId } }) => showStatus(await own(receiver, streamId)),
  });

  route("POST /v1/signals/status", {
    ...described,
    access: "identity",
    summary: "Enable, pause or disable the stream.",
    body: streamStatusChange,
    handle: async ({ caller: { label: receiver }, body: { streamId, status, reason = null } }) => {
      const found = await own(receiver, streamId);
      if (found === undefined) return noStream();
      await signalStreams.setStatus(found.streamId, status, reason);
      return showStatus(await own(receiver, streamId));
    },
  });

  route("POST /v1/signals/verification", {
    reply: { status: 204, description: "A verification event waits on the stream." },
    access: "identity",
    summary: "Have a verification event sent.",
    body: streamVerification,
    handle: async ({ caller: { label: receiver }, body: { streamId, state } }) => {
      const found = await own(receiver, streamId);
      if (found === undefined) return noStream();
      const event = state === undefined ? {} : { state };
      const [eventId, atMs] = [deps.ids.next(), deps.clock.nowMs()];
      await signalStreams.setOwnEvent(found.streamId, { eventId, atMs, type: eventTypes.verification, event });
    },
  });
}

const noStream = (): Response => refuse(404, "stream_not_found", "This bearer's label has no such stream.");

const show = (deps: Deps, stream: SignalStream | undefined, status = 200): Response =>
  stream === undefined ? noStream() : jsonResponse(toWire(deps, stream), status);

const showStatus = (stream: SignalStream | undefined): Response =>
  stream === undefined
    ? noStream()
    : jsonResponse({
        stream_id: stream.streamId,
        status: stream.status,
        ...(stream.statusReason !== null && { reason: stream.statusReason }),
      });

/** Without the receiver's authorization, which is not read back. */
function toWire({ issuer }: Pick<Deps, "issuer">, stream: SignalStream) {
  const { streamId, receiver, endpointUrl, eventsRequested, description } = stream;
  return {
    stream_id: streamId,
    iss: issuer,
    aud: receiver,
    events_supported: transmittedTypes,
    events_requested: eventsRequested,
    events_delivered: transmittedTypes.filter((type) => eventsRequested.includes(type)),
    delivery:
      endpointUrl === null
        ? { method: pollDelivery, endpoint_url: signalsAt(issuer, `/streams/${streamId}/poll`) }
        : { method: pushDelivery, endpoint_url: endpointUrl },
    ...(description !== null && { description }),
  };
}

/** What this service supplies may be sent along, as it is. @throws {ApiError} `invalid_request` */
function requireOurs(body: BodyOf<typeof streamChange>, deps: Deps, stream: SignalStream): void {
  const { iss, aud, events_supported, events_delivered } = toWire(deps, stream);
  const pairs = [
    ["iss", body.iss, iss],
    ["aud", body.aud, aud],
    ["events_supported", body.eventsSupported, events_supported],
    ["events_delivered", body.eventsDelivered, events_delivered],
  ] as const;
  const changed = pairs.filter(([, sent, is]) => sent !== undefined && JSON.stringify(sent) !== JSON.stringify(is));
  if (changed.length === 0) return;
  const issues = changed.map(([name]) => ({ path: name, message: "is not the receiver's to change" }));
  throw invalidRequest("The body is not what this route takes.", issues);
}
