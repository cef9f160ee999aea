import type { Ending } from "../../ports/session-ends.ts";
import type { SessionFilter } from "../../ports/sessions.ts";
import type { CommandDeps } from "../deps.ts";
import { endEvent } from "./revoke-session.ts";

export interface RevokeSessions {
  readonly filter: SessionFilter;
  readonly reason: string | null;
  readonly actor: string;
}

/** Each batch is one short transaction, so that a hundred thousand ends delay no decision. */
const batchSize = 500;

/** Ends every running session that matches and returns how many. */
export async function endSessions(
  deps: Pick<CommandDeps, "clock" | "ids" | "sessionEnds">,
  { filter, reason, actor }: RevokeSessions,
): Promise<number> {
  const { status, ...rest } = filter;
  if (status !== undefined && status !== "active") return 0;
  const ending: Ending = { by: actor, atMs: deps.clock.nowMs(), reason };
  const eventOf = endEvent(deps.ids, ending);
  let total = 0;
  let batch: readonly string[] = [];
  do {
    batch = await deps.sessionEnds.endSome({ filter: rest, after: batch.at(-1), limit: batchSize }, ending, eventOf);
    total += batch.length;
  } while (batch.length === batchSize);
  return total;
}
