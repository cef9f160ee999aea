import type { IdentityFacts, Row, revocation } from "@svc/core";
import type { VerificationKey } from "@svc/tokens";
import type { Actor } from "./administrative-event.ts";
import type { Paged, Span } from "./audit-reads.ts";

export interface Identities {
  /** Read at every call; undefined for an unknown agent. */
  byName(agent: string): Promise<AgentIdentity | undefined>;
  byId(agentId: string): Promise<AgentIdentity | undefined>;
  /** By time, then by agent. */
  revocations(query: RevocationQuery): Promise<readonly Revocation[]>;
  /** Earlier revocations are all visible, however late they commit. Never falls; the Unix epoch before the first. */
  revocationsWholeUntilMs(): Promise<number>;
  /** Commits with a new denial epoch and the event; durable when it resolves. Undefined for an unknown agent. */
  revoke(revocation: ChangeOfIdentity): Promise<Changed | undefined>;
  /** The same for the end of a quarantine: the agent is then as one that never enrolled. */
  liftQuarantine(lift: ChangeOfIdentity): Promise<Changed | undefined>;
}

export interface AgentKeys {
  /** The keys of an enrolled agent, read at every call; empty for other agents. */
  keysOf(agent: string): Promise<readonly VerificationKey[]>;
}

export interface AgentIdentity extends IdentityFacts {
  /** Empty unless the agent is enrolled. */
  readonly keys: readonly Pick<VerificationKey, "kid" | "publicJwk">[];
}

export interface ChangeOfIdentity extends Actor {
  readonly agentId: string;
  readonly reason: string | null;
  readonly eventId: string;
  readonly atMs: number;
}

export interface Changed {
  readonly identity: AgentIdentity;
  /** False if it was so before; then it stays as it is. */
  readonly isNew: boolean;
}

export type Revocation = Row<typeof revocation, "asOf">;

export type RevocationQuery = Pick<Span, "sinceMs"> & Paged<Pick<Revocation, "asOfMs" | "agentId">>;
