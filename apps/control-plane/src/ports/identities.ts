import type { IdentityStatus } from "@svc/core";
import type { VerificationKey } from "@svc/tokens";

export interface Identities {
  /** Read at every call; undefined for an unknown agent. */
  byName(agent: string): Promise<AgentIdentity | undefined>;
  byId(agentId: string): Promise<AgentIdentity | undefined>;
  /** By time, then by agent. */
  revocations(query: RevocationQuery): Promise<readonly Revocation[]>;
  /**
   * Revocations before this time are all visible, however late their transactions commit. Never falls; the Unix epoch
   * before the first revocation.
   */
  revocationsWholeUntilMs(): Promise<number>;
}

export interface AgentRevocations {
  /**
   * Commits the revocation, a new denial epoch and the administrative event together; durable when it resolves. A
   * revoked agent stays as it is. Undefined for an unknown agent.
   */
  revoke(revocation: RevokeAgent): Promise<Revoked | undefined>;
}

/** An agent's pinned identity (docs/reference/identity.md#statuses). */
export interface AgentIdentity {
  readonly agentId: string;
  readonly agent: string;
  readonly status: IdentityStatus;
  /** 0 before the first enrollment. */
  readonly anchorVersion: number;
  /** Empty unless the agent is enrolled. */
  readonly keys: readonly Pick<VerificationKey, "kid" | "publicJwk">[];
  readonly revokedReason: string | null;
  /** Time of the last change, by the database's clock; never falls. */
  readonly asOfMs: number;
}

export interface RevokeAgent {
  readonly agentId: string;
  readonly reason: string | null;
  /** The label of the bearer. */
  readonly revokedBy: string;
  readonly eventId: string;
  readonly atMs: number;
}

export interface Revoked {
  readonly identity: AgentIdentity;
  /** False if it was revoked before. */
  readonly isNew: boolean;
}

export interface Revocation {
  readonly agentId: string;
  readonly agent: string;
  readonly asOfMs: number;
}

export interface RevocationQuery {
  /** Inclusive. */
  readonly sinceMs: number | undefined;
  readonly after: Pick<Revocation, "asOfMs" | "agentId"> | undefined;
  readonly limit: number;
}
