import type { VerificationKey } from "@svc/tokens";

export interface AgentKeys {
  /** The pinned keys of an enrolled agent; none where it is not enrolled. Read at the moment of asking. */
  keysOf(agent: string): Promise<readonly VerificationKey[]>;
}
