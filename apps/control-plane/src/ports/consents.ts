import type { SessionFacts } from "@svc/core";
import type { NewEvent } from "./administrative-event.ts";
import type { ConsentEvent } from "./sessions.ts";

/** What people answered on the consent page, and what clients of the authorization server hold. */
export interface Consents {
  /**
   * `answered`: the question was answered before, or its assertion was used. `over`: the session that one is beside has
   * ended. Nothing changed then. Durable when it resolves.
   */
  allow(allowed: Allowed): Promise<"allowed" | "answered" | "over">;
  /** The answer to a question that starts no session. False: it was answered before. */
  spend(answer: Answer): Promise<boolean>;
  /** False: the question was answered before. */
  refuse(answer: Answer, event: NewEvent): Promise<boolean>;
  /** Running sessions that a person consented to beside this one, newest first. */
  besideOf(query: BesideQuery): Promise<readonly BesideSession[]>;
  /** The grant that a code, an assertion or a refresh token belongs to, as long as its session runs. */
  grantOf(by: { readonly begunWith: Buffer } | { readonly refreshToken: Buffer }): Promise<Grant | undefined>;
  /** Of a handle that is not expired and whose session runs. */
  grantOfHandle(handle: Buffer, nowMs: number): Promise<HeldGrant | undefined>;
  /** Of an access or refresh token, whatever became of it. */
  grantOfToken(token: Buffer): Promise<Grant | undefined>;
  /** Spends `issuedFor`. False: it was spent before, and nothing changed. */
  addTokens(tokens: NewTokens): Promise<boolean>;
}

/** The end of a question. */
export interface Answer {
  readonly questionId: string;
  readonly atMs: number;
  /** Of the question. */
  readonly expiresAtMs: number;
}

export interface Allowed {
  /** Null for an assertion, which no page asked about. */
  readonly answer: Answer | null;
  /** The first one is the grant's. */
  readonly sessions: readonly NewSession[];
  readonly grant?: NewGrant | undefined;
}

export interface NewSession {
  readonly facts: SessionFacts;
  readonly event: ConsentEvent;
  readonly beside?: Beside | undefined;
}

/** For the sake of a session that another agent, or the same one, holds. */
export interface Beside {
  readonly sessionId: string;
  readonly holder: string;
  /** Acts in the new session. */
  readonly agent: string;
}

export interface BesideQuery {
  readonly sessionId: string;
  readonly holder: string;
  readonly nowMs: number;
}

/** Of each secret there is the SHA-256 alone. */
export interface NewGrant {
  readonly grantId: string;
  readonly agent: string;
  readonly clientId: string;
  readonly resource: string;
  readonly scopes: readonly string[];
  readonly begunWith: Buffer;
  readonly code: {
    readonly challenge: string;
    readonly redirectUri: string;
    readonly expiresAtMs: number;
  } | null;
}

export interface Grant extends NewGrant {
  readonly session: SessionFacts;
  /** The session was ended; its own expiry is in its facts. */
  readonly isEnded: boolean;
  /** `begunWith`, or this refresh token, was spent before. */
  readonly isSpent: boolean;
}

export interface HeldGrant extends Grant {
  readonly handleExpiresAtMs: number;
}

export interface NewTokens {
  readonly grantId: string;
  readonly issuedFor: Buffer;
  readonly access: NewToken;
  readonly refresh: NewToken;
}

export interface NewToken {
  readonly hash: Buffer;
  readonly expiresAtMs: number;
}

export interface BesideSession {
  readonly session: SessionFacts;
  readonly agent: string;
}
