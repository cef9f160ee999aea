import type { Ids } from "../../ports/clock.ts";
import type { EndEvent, Ending } from "../../ports/session-ends.ts";
import type { SessionRead } from "../../ports/sessions.ts";
import type { CommandDeps } from "../deps.ts";

export interface RevokeSession {
  readonly sessionId: string;
  readonly reason: string | null;
  readonly actor: string;
}

export interface RevokedSession {
  readonly session: SessionRead;
  /** Whether this call ended it. */
  readonly ended: boolean;
}

/** Ends the session and returns it; undefined if there is none. A session that has ended stays as it is. */
export async function revokeSession(
  deps: Pick<CommandDeps, "clock" | "ids" | "sessionEnds" | "sessions">,
  { sessionId, reason, actor }: RevokeSession,
): Promise<RevokedSession | undefined> {
  const ending: Ending = { by: actor, atMs: deps.clock.nowMs(), reason };
  const ended = await deps.sessionEnds.end(sessionId, ending, endEvent(deps.ids, ending));
  const session = await deps.sessions.read(sessionId, deps.clock.nowMs());
  return session && { session, ended };
}

export const endEvent =
  (ids: Ids, { by, atMs, reason }: Ending): EndEvent =>
  (sessionId) => ({
    eventId: ids.next(),
    kind: "session_revoked",
    atMs,
    actor: by,
    sessionId,
    reason,
    details: {},
  });
