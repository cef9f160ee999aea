import type { SessionFacts } from "./present.ts";

export interface Sessions {
  /** Commits session, its state and the consent's administrative event, all or nothing; durable when it resolves. */
  create(session: SessionFacts, eventId: string): Promise<void>;
  /** Facts that never change, so served from memory once read. */
  find(sessionId: string): Promise<SessionFacts | undefined>;
}
