import type { IdentityStatus } from "@svc/core";
import type { VerificationKey } from "@svc/tokens";

export interface Identities {
  /** Read at the moment of asking; undefined where no such agent is registered. */
  byName(agent: string): Promise<AgentIdentity | undefined>;
  byId(agentId: string): Promise<AgentIdentity | undefined>;
  /**
   * Commits revocation, fresh denial epoch and administrative event, all or nothing; durable when it resolves. An agent
   * that is revoked already stays as it is. Undefined where there is no such agent.
   */
  revoke(revocation: RevokeAgent): Promise<Revoked | undefined>;
  revocations(query: RevocationQuery): Promise<readonly Revocation[]>;
  /**
   * Up to where the list of revocations is whole: what a query from now on does not see is of this time or later,
   * however late its transaction commits. It never falls; the Unix epoch where nobody was revoked yet.
   */
  revocationsWholeUntilMs(): Promise<number>;
}

/** An agent's pinned identity (specification: Agent identity). */
export interface AgentIdentity {
  readonly agentId: string;
  readonly agent: string;
  readonly status: IdentityStatus;
  /** 0 until the agent first enrolled. */
  readonly anchorVersion: number;
  /** None but an enrolled agent's. */
  readonly keys: readonly Pick<VerificationKey, "kid" | "publicJwk">[];
  readonly revokedReason: string | null;
  /** When it last changed, by the database's clock; never falls. */
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
  /** False where it had been revoked before. */
  readonly isNew: boolean;
}

export interface Revocation {
  readonly agentId: string;
  readonly agent: string;
  readonly asOfMs: number;
}

/** By time, then by agent. */
export interface RevocationQuery {
  /** Epoch milliseconds, inclusive. */
  readonly sinceMs: number | undefined;
  /** Where the page before ended. */
  readonly after: Pick<Revocation, "asOfMs" | "agentId"> | undefined;
  readonly limit: number;
}
