import { once } from "node:events";
import type { HopCredential } from "@svc/hop";
import type { Limits } from "../limits.ts";
import { type RawHeaders, valuesOf } from "../message/headers.ts";
import type { Placed } from "../resolve/identify-call.ts";

/** A call's place among those of its MCP session. */
export interface Turn {
  /** Resolves when every event stream that the session asked for earlier is open, or will not be; or at the abort. */
  comes(signal: AbortSignal): Promise<unknown>;
  /** The request is on its way to the upstream. */
  sent(): void;
  /** The head of its answer is there, or there will be none. Idempotent. */
  answered(): void;
}

/**
 * Keeps an MCP client's calls behind the event stream that it opened before them, as they are where nothing is decided in
 * between: what a server asks back on a stream that it does not have yet reaches nobody. Only the head of the stream's
 * answer proves that the server has it, since the two go over connections of their own.
 *
 * Each holds back its own alone: a session is one `Mcp-Session-Id` at one upstream under one presented token. A stream
 * counts as opening for `hopMs` until it is sent, and `streamHeadMs` from then on. Who opens one is a call under way, so
 * there are never more of them than places for calls.
 */
export interface SessionOrder {
  /** To be asked at once when a call arrives: what comes first is first. */
  enter(call: ArrivingCall): Turn;
  /** Sessions with a stream that is opening. */
  readonly opening: number;
}

export interface ArrivingCall {
  readonly method: string;
  readonly rawHeaders: RawHeaders;
  readonly place: Placed;
  readonly credential: HopCredential | undefined;
}

export function createSessionOrder({ hopMs, streamHeadMs }: Pick<Limits, "hopMs" | "streamHeadMs">): SessionOrder {
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
    enter(call) {
      const opens = call.method === "GET";
      if (!opens && openings.size === 0) return atOnce;
      const session = sessionOf(call);
      if (session === undefined) return atOnce;
      const earlier = openings.get(session);
      const comes: Turn["comes"] = earlier ? (signal) => settledOrAborted(earlier, signal) : atOnce.comes;
      return { ...atOnce, ...(opens && open(session, earlier)), comes };
    },
    get opening() {
      return openings.size;
    },
  };
}

const atOnce: Turn = { comes: () => Promise.resolve(), sent() {}, answered() {} };

async function settledOrAborted(earlier: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await Promise.race([earlier, once(signal, "abort")]);
}

/** Undefined for a call of none. The token is part of it, since the rest is what anybody may say. */
function sessionOf({ rawHeaders, place, credential }: ArrivingCall): string | undefined {
  const { kind, upstream } = place;
  if (upstream.protocol !== "mcp" || kind === "unmapped" || !credential) return undefined;
  const [id, ...others] = valuesOf(rawHeaders, "mcp-session-id");
  if (id === undefined || others.length > 0) return undefined;
  // No header value and no name of an upstream holds a line end.
  return [upstream.name, credential.token, id].join("\n");
}
