import type { Revoked } from "../../ports/identities.ts";
import type { CommandDeps } from "../deps.ts";
import { isUuid } from "../identifier.ts";

export interface RevokeCommand {
  readonly agentId: string;
  readonly reason: string | undefined;
  /** The label of the bearer. */
  readonly revokedBy: string;
}

/**
 * Revokes an agent for ever. After it resolves, every new decision, exchange, renewal and mint refuses a chain with the
 * agent (docs/reference/routes.md#present-denials-and-the-hop-endpoints). Undefined for an unknown agent.
 */
export async function revokeAgent(
  deps: Pick<CommandDeps, "clock" | "ids" | "agentRevocations">,
  command: RevokeCommand,
): Promise<Revoked | undefined> {
  const { agentId, reason, revokedBy } = command;
  if (!isUuid(agentId)) return undefined;
  return deps.agentRevocations.revoke({
    agentId,
    reason: reason ?? null,
    revokedBy,
    eventId: deps.ids.next(),
    atMs: deps.clock.nowMs(),
  });
}
