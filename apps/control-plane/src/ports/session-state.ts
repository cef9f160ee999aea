import type { Block, IdentityStatus, Marks } from "@svc/core";

/** Random values that every change replaces in its own transaction. A write under replaced epochs is refused. */
export interface Epochs {
  readonly denials: string;
  readonly session: string;
}

/** Never change after the consent. */
export interface SessionFacts {
  readonly sessionId: string;
  readonly userSub: string;
  readonly scope: string;
  readonly policyVersion: number;
  readonly hopBudget: number;
  /** The label of the admin bearer. */
  readonly consentedBy: string;
  readonly consentedAtMs: number;
  readonly expiresAtMs: number;
}

/** Everything about a session that can turn an allow into a deny. */
export interface SessionState {
  readonly facts: SessionFacts;
  readonly revoked: boolean;
  readonly identities: ReadonlyMap<string, IdentityStatus>;
  readonly blocks: readonly Block[];
  readonly marks: Marks;
  readonly epochs: Epochs;
}

export interface SessionStateQuery {
  readonly sessionId: string;
  /** Agents of the chain, and the target where it is an agent. */
  readonly agents: readonly string[];
  readonly nowMs: number;
}

export interface SessionStateReader {
  /** One round trip to the primary. Undefined without such a session. */
  read(query: SessionStateQuery): Promise<SessionState | undefined>;
  /** The last result of `read` in this process. Use it only for a write that the database refuses under other epochs. */
  cached(query: SessionStateQuery): SessionState | undefined;
}
