import type { Block, IdentityStatus, Marks } from "@svc/core";

/**
 * What a decision was made under. Random values that every change replaces in its own transaction, so that a write
 * can refuse to be based on what no longer holds.
 */
export interface Epochs {
  readonly denials: string;
  readonly session: string;
}

/** A consent's session: facts that never change. */
export interface SessionFacts {
  readonly sessionId: string;
  readonly userSub: string;
  readonly scope: string;
  readonly policyVersion: number;
  readonly hopBudget: number;
  /** The label of the admin bearer that consented. */
  readonly consentedBy: string;
  readonly consentedAtMs: number;
  readonly expiresAtMs: number;
}

/** Everything about a session that can turn an allow into a deny, as it stands now. */
export interface Present {
  readonly session: SessionFacts;
  readonly revoked: boolean;
  readonly identities: ReadonlyMap<string, IdentityStatus>;
  readonly blocks: readonly Block[];
  readonly marks: Marks;
  readonly epochs: Epochs;
}

/** Names whose identity or block could matter to a decision. */
export interface PresentQuery {
  readonly sessionId: string;
  /** Agents of the chain, and the target where it is an agent. */
  readonly agents: readonly string[];
  readonly nowMs: number;
}

export interface PresentReader {
  /** One round trip to the primary. Undefined where there is no such session. */
  read(query: PresentQuery): Promise<Present | undefined>;
  /**
   * As this process read it last, if it did: good for nothing but a write that the database refuses unless the epochs
   * still stand.
   */
  recall(query: PresentQuery): Present | undefined;
}
