import type { NewEvent } from "./administrative-event.ts";
import type { SessionFilter } from "./sessions.ts";

export interface Ending {
  readonly by: string;
  readonly atMs: number;
  readonly reason: string | null;
}

/** Makes the event of one session's end. */
export type EndEvent = (sessionId: string) => NewEvent;

export interface SessionEnds {
  /**
   * Ends the session if it still runs. Its end, a new epoch and the event commit together; durable when it resolves:
   * every later decision sees the end. False if it had ended before.
   */
  end(sessionId: string, ending: Ending, eventOf: EndEvent): Promise<boolean>;
  /** The same for at most `limit` running sessions that match, in order of id. Returns the ids it ended. */
  endSome(batch: EndBatch, ending: Ending, eventOf: EndEvent): Promise<readonly string[]>;
}

export interface EndBatch {
  readonly filter: Omit<SessionFilter, "status">;
  /** Exclusive. */
  readonly after: string | undefined;
  readonly limit: number;
}
