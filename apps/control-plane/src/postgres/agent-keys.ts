import { type PublicJwk, readPublicKey, type VerificationKey } from "@svc/tokens";
import { LRUCache } from "lru-cache";
import type { AgentKeys } from "../ports/agent-keys.ts";
import { bounded, type Sql } from "./database.ts";

interface PinnedKey {
  jwk: PublicJwk;
  thumbprint: string;
}

/** Which key is pinned is read every time; what the key is never changes under one thumbprint. */
export const agentKeys = (sql: Sql, deadlineMs: number): AgentKeys => {
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
      const [pinned] = await bounded(deadlineMs, findPinned(sql, agent));
      return pinned === undefined ? [] : importKey(pinned);
    },
  };
};

const findPinned = (sql: Sql, agent: string) => sql<PinnedKey[]>`
  select i.jwk, i.thumbprint from agent_identity i
  where i.agent = ${agent} and i.status = 'enrolled' and i.jwk is not null
    and not exists (select from revocation r where r.agent_id = i.agent_id)`;
