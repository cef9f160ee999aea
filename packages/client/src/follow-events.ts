import * as core from "@svc/core";
import { readBounded } from "@svc/core/read-bounded";
import { parseBody, unusable } from "@svc/hop";
import { followPush, type PushPorts, type SentEvent } from "@svc/tokens";
import { ControlPlaneRejected, errorOf, type RequestLine } from "./errors.ts";
import type { BodyOf, CallOptions } from "./plane.ts";

interface AtPosition {
  /** Pass it to continue here; undefined before the first one. */
  readonly position: string | undefined;
}

/**
 * An act that stops agents or lets them act again; `heartbeat`, whose `asOf` says up to when all was sent; or `reset`, where events
 * are missing or not readable: read the lists again.
 */
export type PushedEvent = AtPosition &
  (
    | BodyOf<typeof core.pushedEvent>
    | (BodyOf<typeof core.pushHeartbeat> & { readonly kind: "heartbeat" })
    | { readonly kind: "reset" }
  );

/** Where to begin; without either now. */
export interface FollowFrom {
  /** Of an event that was received before. */
  readonly position?: string | undefined;
  readonly since?: string | Date | undefined;
}

export interface FollowPorts {
  readonly fetch: typeof globalThis.fetch;
  /** The address of a path below the control plane's base address. */
  readonly urlOf: (path: string) => string;
  readonly bearer: string | undefined;
  /** Ends what is followed. */
  readonly closed: AbortSignal;
}

const line: RequestLine = { method: "GET", path: "/v1/identity/revocations/stream" };

/** Follows the push. @throws {ControlPlaneRejected} where it is refused, and after an abort the signal's reason */
export async function* followEvents(
  { fetch, urlOf, bearer = "", closed }: FollowPorts,
  { position, since }: FollowFrom,
  { signal }: CallOptions,
): AsyncGenerator<PushedEvent, void> {
  const sinceMs = since === undefined ? undefined : new Date(since).getTime();
  const events = followPush(
    { fetch: accepted(fetch), random: Math.random, after },
    {
      ...{ url: urlOf(line.path), token: bearer, lastEventId: position },
      ...(sinceMs !== undefined && { sinceMs: () => sinceMs }),
      signal: signal ? AbortSignal.any([signal, closed]) : closed,
      onFailure(error) {
        if (error instanceof ControlPlaneRejected) throw error;
      },
    },
  );
  for await (const event of events) yield eventOf(event);
  signal?.throwIfAborted();
}

/** A refusal with its code, as every other call has it. */
const accepted =
  (fetch: typeof globalThis.fetch): PushPorts["fetch"] =>
  async (url, request) => {
    const response = await fetch(url, request);
    if (response.status === 200) return response;
    const { status, headers, body } = response;
    const bytes = (await readBounded(body, maxErrorBytes)) ?? new Uint8Array();
    const received = { status, headers: Object.fromEntries(headers), body: new TextDecoder().decode(bytes) };
    throw errorOf(line, unusable("status", received));
  };

const maxErrorBytes = 65_536;

function eventOf({ event, data, id: position }: SentEvent): PushedEvent {
  const answer = { status: 200, headers: {}, body: data };
  if (event === "heartbeat") {
    const read = parseBody(core.pushHeartbeat, answer);
    if (read) return { kind: event, ...core.fromWire(core.pushHeartbeat, read), position };
  }
  const read = event === "reset" ? undefined : parseBody(core.pushedEvent, answer);
  return read ? { ...core.fromWire(core.pushedEvent, read), position } : { kind: "reset", position };
}

function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
