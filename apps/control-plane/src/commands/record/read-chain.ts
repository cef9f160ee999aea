import { type Chain, walkChain } from "@svc/core";
import type { DecisionReads } from "../../ports/decision-log.ts";
import type { SessionFacts } from "../../ports/session-state.ts";
import type { Sessions } from "../../ports/sessions.ts";
import { isUuid } from "../identifier.ts";

export interface ChainDeps {
  readonly decisions: Pick<DecisionReads, "lineage">;
  readonly sessions: Pick<Sessions, "find">;
}

export interface ReadBack {
  readonly chain: Chain;
  readonly session: SessionFacts;
}

/** An action's chain back to the human (docs/reference/record.md#chain-reads). Undefined without such an action. */
export async function readChain({ decisions, sessions }: ChainDeps, actionId: string): Promise<ReadBack | undefined> {
  const lineage = isUuid(actionId) ? await decisions.lineage(actionId) : undefined;
  if (lineage === undefined) return undefined;
  const session = await sessions.find(lineage.action.record.sessionId);
  // Only damage to the database can cause it.
  if (session === undefined) throw new Error("a recorded action has no session");
  return { chain: walkChain(lineage.action, lineage.reached), session };
}
