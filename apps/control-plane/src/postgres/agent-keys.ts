import { type PublicJwk, readPublicKey, type VerificationKey } from "@svc/tokens";
import { LRUCache } from "lru-cache";
import type { AgentKeys } from "../ports/agent-keys.ts";
import type { Pool, Sql } from "./database.ts";

interface PinnedKey {
  readonly jwk: PublicJwk;
  readonly thumbprint: string;
}

/** Reads which key is pinned at every call. The key of one thumbprint never changes, so it is imported once. */
export const agentKeys = (pool: Pool): AgentKeys => {
  const imported = new LRUCache<string, VerificationKey>({ max: 10_000 });
  const importKey = async ({ jwk, thumbprint }: PinnedKey): Promise<readonly VerificationKey[]> => {
    const known = imported.get(thumbprint);
    if (known !== undefined) return [known];
    const reading = await readPublicKey(jwk);
    if (!reading.ok) return [];
    imported.set(thumbprint, reading.key);
    return [reading.key];
  };
  return {
    async keysOf(agent) {
      const [pinned] = await pool.run((sql) => findPinned(sql, agent));
      return pinned === undefined ? [] : importKey(pinned);
    },
  };
};

const findPinned = (sql: Sql, agent: string) => sql<PinnedKey[]>`
  select i.jwk, i.thumbprint from agent_identity i
  where i.agent = ${agent} and i.status = 'enrolled' and i.jwk is not null
    and not exists (select from revocation r where r.agent_id = i.agent_id)`;
