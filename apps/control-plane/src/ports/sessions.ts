import type { SessionStatus, Taint } from "@svc/core";
import type { SessionFacts } from "./session-state.ts";

export interface Sessions {
  /**
   * Commits session, its state and the consent's administrative event, all or nothing; durable when it resolves.
   * Answers the denial epoch it was committed under, so that no key signs for it that was removed before.
   */
  create(session: SessionFacts, eventId: string): Promise<string>;
  /** Facts that never change, so served from memory once read. */
  find(sessionId: string): Promise<SessionFacts | undefined>;
  /** As it stands at the moment of asking. */
  read(sessionId: string, nowMs: number): Promise<SessionRead | undefined>;
  /** Newest first; those older than `before` only. */
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
  /** Null for the human, whose name an agent may bear. */
  readonly agent: string | null;
  readonly taint: Taint;
  readonly source: string;
  readonly actionId: string;
  readonly markedAtMs: number;
}

export interface SessionFilter {
  readonly userSub?: string | undefined;
  readonly scope?: string | undefined;
  /** An agent that was delegated to in the session, and so held a token of it. */
  readonly agent?: string | undefined;
  readonly status?: SessionStatus | undefined;
}

export interface SessionQuery {
  readonly filter: SessionFilter;
  readonly before: string | undefined;
  readonly limit: number;
  readonly nowMs: number;
}
