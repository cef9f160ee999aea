import type { Block, IdentityStatus, PresentDenials, SessionFacts, SessionMarks, SessionRead } from "@svc/core";
import type { Actor, NewEvent } from "./administrative-event.ts";
import type { Paged, SessionFilter } from "./audit-reads.ts";

export interface Sessions {
  /** Commits it with its event; durable when it resolves. Returns its denial epoch: no key removed before signs. */
  create(session: SessionFacts, event: ConsentEvent): Promise<string>;
  /** The facts never change, so they are read once. */
  find(sessionId: string): Promise<SessionFacts | undefined>;
  /** Read at every call. */
  read(sessionId: string, nowMs: number): Promise<SessionRead | undefined>;
  /**
   * Ends the session if it still runs, and those beside it. Its end, a new epoch and the event commit together; durable when it resolves:
   * every later decision sees the end. False if it had ended before.
   */
  end(sessionId: string, ending: Ending, eventOf: EndEvent): Promise<boolean>;
  /** The same for at most `limit` running sessions that match, in order of id. Returns the ids it ended. */
  endSome(batch: EndBatch, ending: Ending, eventOf: EndEvent): Promise<readonly string[]>;
}

export interface ConsentEvent {
  readonly eventId: string;
  /** base64url(SHA-256) of the pinned policy's document. */
  readonly policyHash: string;
  /** Further facts: what the person saw, and whom it is for. */
  readonly details?: NewEvent["details"];
}

export interface Ending extends Actor {
  readonly atMs: number;
  readonly reason: string | null;
}

/** Makes the event of one session's end. */
export type EndEvent = (sessionId: string) => NewEvent;

export interface EndBatch extends Paged<string> {
  readonly filter: Omit<SessionFilter, "status">;
}

/** Random values that every change replaces in its own transaction. A write under replaced epochs is refused. */
export interface Epochs {
  readonly denials: string;
  readonly session: string;
}

/** Everything about a session that can turn an allow into a deny. */
export interface SessionState {
  readonly facts: SessionFacts;
  readonly revoked: boolean;
  readonly identities: ReadonlyMap<string, IdentityStatus>;
  readonly blocks: readonly Block[];
  readonly marks: SessionMarks;
  readonly epochs: Epochs;
}

export interface SessionStateQuery {
  readonly sessionId: string;
  /** Agents of the chain, the target where it is an agent, and at hop 1 those that lend the tool. */
  readonly agents: readonly string[];
  readonly nowMs: number;
}

export interface SessionStateReader {
  /** One round trip to the primary. Undefined without such a session. */
  read(query: SessionStateQuery): Promise<SessionState | undefined>;
  /** The last result of `read` in this process. Use it only for a write that the database refuses under other epochs. */
  cached(query: SessionStateQuery): SessionState | undefined;
  /** What denies these agents. Read at every call. */
  denials(query: Omit<SessionStateQuery, "sessionId">): Promise<PresentDenials>;
}
