import type { SessionFacts } from "./present.ts";

export interface Sessions {
  /** Commits session, its state and the consent's administrative event together. */
  create(session: SessionFacts): Promise<void>;
  /** Facts that never change, so served from memory once read. */
  find(sessionId: string): Promise<SessionFacts | undefined>;
}
