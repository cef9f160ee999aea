import { readPublicKey } from "@svc/tokens";
import type { AgentKeys } from "../ports/agent-keys.ts";
import { bounded, type Sql } from "./database.ts";

export const agentKeys = (sql: Sql, deadlineMs: number): AgentKeys => ({
  async keysOf(agent) {
    const [row] = await bounded(
      deadlineMs,
      sql<{ jwk: unknown }[]>`
        select i.jwk from agent_identity i
        where i.agent = ${agent} and i.status = 'enrolled'
          and not exists (select from revocation r where r.agent_id = i.agent_id)`,
    );
    const reading = row && (await readPublicKey(row.jwk));
    return reading?.ok ? [reading.key] : [];
  },
});
