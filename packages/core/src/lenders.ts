import { isToolClass } from "./data-class.ts";
import type { HopRequest } from "./hop.ts";
import type { BlockKind, IdentityStatus } from "./kinds.ts";
import type { PolicyIndex } from "./policy-index.ts";

/** What can deny an agent at present: revocation, quarantine, an emergency block. */
export interface PresentDenials {
  /** By agent name; an agent that never enrolled is absent. */
  readonly identities: ReadonlyMap<string, IdentityStatus>;
  /** Those in force now. */
  readonly blocks: readonly { readonly kind: BlockKind; readonly ref: string }[];
}

/** The agents that the human may delegate to. */
export const entryAgents = (policy: PolicyIndex): readonly string[] => [...policy.human.downstream];

/**
 * At hop 1 the human calls a tool through an agent that lends it: an entry agent that declares it for the data class or,
 * where none does, for any (docs/reference/decision.md#hop-1). Empty for every other hop.
 */
export function lendersOf(
  policy: PolicyIndex,
  { chain, target, targetKind, dataClass }: Pick<HopRequest, "chain" | "target" | "targetKind" | "dataClass">,
): readonly string[] {
  if (chain.length > 0 || targetKind !== "tool" || !policy.human.tools.has(target)) return [];
  const classesOf = (agent: string) => policy.agents.get(agent)?.tools.get(target)?.dataClasses;
  const declaring = entryAgents(policy).filter((agent) => classesOf(agent) !== undefined);
  const covering = declaring.filter((agent) => isToolClass(dataClass, classesOf(agent) ?? []));
  return covering.length > 0 ? covering : declaring;
}

/** The agent is neither revoked, nor quarantined, nor blocked. */
export function isInGoodStanding(agent: string, { identities, blocks }: PresentDenials): boolean {
  const status = identities.get(agent);
  if (status === "revoked" || status === "quarantined") return false;
  return !blocks.some(({ kind, ref }) => kind === "agent" && ref === agent);
}
