import type { Act } from "@svc/console";
import { liftBlock, setBlock } from "../commands/blocks.ts";
import { liftQuarantine, revokeAgent } from "../commands/identity.ts";
import { endSessions, revokeSession } from "../commands/sessions.ts";
import type { Actor } from "../ports/administrative-event.ts";
import type { ConsentDeps } from "./consent-deps.ts";

/** By the commands of the API. How many sessions ended, else 1; 0 if another one did it meanwhile. */
export async function perform(deps: ConsentDeps, act: Act, reason: string, actor: Actor): Promise<number> {
  const { events } = deps;
  const { ref } = act;
  switch (act.act) {
    case "set_block": {
      const { kind } = await setBlock(deps, { kind: act.kind, ref, reason, untilMs: null }, actor);
      return counted(kind === "set" ? 1 : 0, () => events.administered("block_set"));
    }
    case "lift_block": {
      const isLifted = await liftBlock(deps, { kind: act.kind, ref, reason }, actor);
      return counted(Number(isLifted), () => events.administered("block_lifted"));
    }
    case "end_session": {
      const revoked = await revokeSession(deps, ref, { ...actor, reason });
      return counted(Number(revoked?.ended), () => events.administered("session_revoked", ref));
    }
    case "end_sessions": {
      const ended = await endSessions(deps, { userSub: ref }, { ...actor, reason });
      return counted(ended, () => events.administered("session_revoked"));
    }
    case "revoke_agent": {
      const revoked = await revokeAgent(deps, await changeOf(deps, ref, reason, actor));
      return counted(Number(revoked?.isNew), events.agentRevoked);
    }
    case "lift_quarantine":
      return counted(Number((await liftQuarantine(deps, await changeOf(deps, ref, reason, actor)))?.isNew), () => {});
    default:
      return act satisfies never;
  }
}

function counted(count: number, log: () => void): number {
  if (count > 0) log();
  return count;
}

const changeOf = async ({ identities }: ConsentDeps, agent: string, reason: string, actor: Actor) => ({
  agentId: (await identities.byName(agent))?.agentId ?? "",
  reason,
  ...actor,
});
