import type { SessionStatus, Taint } from "@svc/core";
import type { SessionFacts } from "./session-state.ts";

export interface SessionStarts {
  /**
   * Commits the session, its state and the event of the consent together; durable when it resolves. Returns the denial
   * epoch of the commit, so that no key signs the root grant that was removed before.
   */
  create(session: SessionFacts, eventId: string): Promise<string>;
}

export interface Sessions {
  /** The facts never change, so they are read once. */
  find(sessionId: string): Promise<SessionFacts | undefined>;
  /** Read at every call. */
  read(sessionId: string, nowMs: number): Promise<SessionRead | undefined>;
  /** Newest first. */
  page(query: SessionQuery): Promise<readonly SessionSummary[]>;
}

export interface SessionSummary {
  readonly facts: SessionFacts;
  readonly status: SessionStatus;
  readonly revocation: { readonly atMs: number; readonly by: string; readonly reason: string | null } | null;
}

export interface SessionRead extends SessionSummary {
  /** In the order they were set. */
  readonly marks: readonly TaintMark[];
}

export interface TaintMark {
  /** Null for the human: an agent may have the human's name. */
  readonly agent: string | null;
  readonly taint: Taint;
  readonly source: string;
  readonly actionId: string;
  readonly markedAtMs: number;
}

export interface SessionFilter {
  readonly userSub?: string | undefined;
  readonly scope?: string | undefined;
  /** An agent that got a delegation in the session. */
  readonly agent?: string | undefined;
  readonly status?: SessionStatus | undefined;
}

export interface SessionQuery {
  readonly filter: SessionFilter;
  /** Exclusive: a session's id. */
  readonly before: string | undefined;
  readonly limit: number;
  readonly nowMs: number;
}
