import type { AdministrativeEvent } from "./administrative-event.ts";
import type { SessionFilter } from "./sessions.ts";

/** Who ends a session, when and why. */
export interface Ending {
  readonly by: string;
  readonly atMs: number;
  readonly reason: string | null;
}

/** The record of one session's end. */
export type EndEvent = (sessionId: string) => AdministrativeEvent;

export interface SessionEnds {
  /**
   * Ends the session where it still runs; one that has ended stays as it is. Its end, a fresh epoch and the event are
   * one transaction, durable when it resolves: whatever is decided on the session from then on sees it ended.
   * Whether this call ended it.
   */
  end(sessionId: string, ending: Ending, eventOf: EndEvent): Promise<boolean>;
  /** The same for at most `limit` of the running sessions that match, in order of id, after `after`: those it ended. */
  endSome(batch: EndBatch, ending: Ending, eventOf: EndEvent): Promise<readonly string[]>;
}

export interface EndBatch {
  readonly filter: Omit<SessionFilter, "status">;
  readonly after: string | undefined;
  readonly limit: number;
}
