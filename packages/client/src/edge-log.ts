import { highestTaint, type Taint } from "@svc/core";
import type { TraceRecorder } from "@svc/drift/recorder";
import type { Decision, Hop } from "@svc/hop";
import { decodeUnverifiedHopToken } from "@svc/tokens";
import { LRUCache } from "lru-cache";
import type { HopContext } from "./hop-context.ts";

/** Records one edge for an authorize call; `decision` is undefined where there was none to act on. */
export type RecordEdge = (context: HopContext, call: Hop["call"], decision: Decision | undefined) => void;

/** Sessions whose scope is cached. */
const maxSessions = 10_000;

/**
 * Only a session's hop-1 token names the consented scope, so it is kept by session.
 * @param scope of sessions of which this process saw no hop-1 token
 */
export function edgeRecorder(recorder: TraceRecorder, scope: string | undefined): RecordEdge {
  const scopes = new LRUCache<string, string>({ max: maxSessions });
  return (context, { target, targetKind, dataClass, taint }, decision) => {
    const claims = decodeUnverifiedHopToken(context.token);
    if (claims?.targetKind === null && !scopes.has(context.sessionId)) scopes.set(context.sessionId, claims.scope);
    recorder.record({
      scope: scopes.get(context.sessionId) ?? scope ?? null,
      chain: context.actChain.slice(1),
      caller: context.caller,
      target,
      targetKind,
      dataClass,
      hop: context.hop,
      taint: decision?.taint ?? highest(claims?.taint, taint),
      outcome: decision?.outcome ?? "undecided",
    });
  };
}

const highest = (one: Taint = "trusted_internal", other: Taint = "trusted_internal"): Taint => highestTaint(one, other);
