import { once } from "node:events";
import type { HopCredential } from "@svc/hop";
import type { Limits } from "../limits.ts";
import { type RawHeaders, valuesOf } from "../message/headers.ts";
import type { Resolved } from "../resolve/resolve.ts";

/** A call's place in the order of its session. */
export interface Turn {
  /** Resolves when every event stream that the session opened earlier is open or failed, or at the abort. */
  ready(signal: AbortSignal): Promise<unknown>;
  /** The request is on its way to the upstream. */
  sent(): void;
  /** The head of its answer arrived, or there will be none. Idempotent. */
  answered(): void;
}

interface ArrivingRequest {
  readonly method?: string | undefined;
  readonly rawHeaders: RawHeaders;
}

export type SessionOrder = ReturnType<typeof createSessionOrder>;

/**
 * Keeps a client's calls behind the event stream that it opened before them: a server's request on a stream that the
 * server does not have yet reaches no client. Only the head of the stream's answer proves that the server has it.
 *
 * A session is one session id at one upstream under one presented token, and waits for its own streams alone. A stream
 * counts as opening for `hopMs` until it is sent, and `streamHeadMs` from then on.
 */
export function createSessionOrder({ hopMs, streamHeadMs }: Pick<Limits, "hopMs" | "streamHeadMs">) {
  /** Session to the end of all openings so far. */
  const openings = new Map<string, Promise<unknown>>();

  const open = (session: string, earlier: Promise<unknown> | undefined): Pick<Turn, "sent" | "answered"> => {
    const own = Promise.withResolvers<void>();
    const all = earlier ? Promise.all([earlier, own.promise]) : own.promise;
    openings.set(session, all);
    let overdue = setTimeout(own.resolve, hopMs);
    void all.then(() => {
      if (openings.get(session) === all) openings.delete(session);
    });
    return {
      sent() {
        clearTimeout(overdue);
        overdue = setTimeout(own.resolve, streamHeadMs);
      },
      answered() {
        clearTimeout(overdue);
        own.resolve();
      },
    };
  };

  return {
    /** Must be called as soon as a call arrives: the order of arrival counts. */
    enter(request: ArrivingRequest, resolved: Resolved, credential: HopCredential | undefined): Turn {
      const opens = request.method === "GET";
      if (!opens && openings.size === 0) return noWait;
      const session = sessionOf(request, resolved, credential);
      if (session === undefined) return noWait;
      const earlier = openings.get(session);
      const ready: Turn["ready"] = earlier ? (signal) => settledOrAborted(earlier, signal) : noWait.ready;
      return { ...noWait, ...(opens && open(session, earlier)), ready };
    },
    /** Sessions with a stream that is opening. */
    opening: () => openings.size,
  };
}

const noWait: Turn = { ready: () => Promise.resolve(), sent() {}, answered() {} };

async function settledOrAborted(earlier: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await Promise.race([earlier, once(signal, "abort")]);
}

/** Undefined for a call without a session. The token is part of the key, since any client may send any session id. */
function sessionOf(
  { rawHeaders }: ArrivingRequest,
  { kind, upstream }: Resolved,
  credential: HopCredential | undefined,
): string | undefined {
  const { ordersSessions: header } = upstream.protocol;
  if (header === undefined || kind === "unmapped" || !credential) return undefined;
  const [id, ...others] = valuesOf(rawHeaders, header);
  if (id === undefined || others.length > 0) return undefined;
  // No header value and no name of an upstream holds a line end.
  return [upstream.name, credential.token, id].join("\n");
}
