import { type Chain, walkChain } from "@svc/core";
import type { SessionFacts } from "../../ports/session-state.ts";
import type { CommandDeps } from "../deps.ts";
import { isUuid } from "../identifier.ts";

export interface ReadBack {
  readonly chain: Chain;
  readonly session: SessionFacts;
}

/** An action's chain back to the human (docs/reference/record.md#chain-reads). Undefined without such an action. */
export async function readChain(
  { decisions, sessions }: Pick<CommandDeps, "decisions" | "sessions">,
  actionId: string,
): Promise<ReadBack | undefined> {
  const lineage = isUuid(actionId) ? await decisions.lineage(actionId) : undefined;
  if (lineage === undefined) return undefined;
  const session = await sessions.find(lineage.action.record.sessionId);
  // Only damage to the database can cause it.
  if (session === undefined) throw new Error("a recorded action has no session");
  return { chain: walkChain(lineage.action, lineage.reached), session };
}
