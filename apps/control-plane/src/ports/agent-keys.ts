import type { VerificationKey } from "@svc/tokens";

export interface AgentKeys {
  /** The keys of an enrolled agent, read at every call; empty for other agents. */
  keysOf(agent: string): Promise<readonly VerificationKey[]>;
}
