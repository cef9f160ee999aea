import type { PublicJwk } from "@svc/tokens";
import type { AgentIdentity, AgentRevocations, Identities } from "../ports/identities.ts";
import type { Pool, Sql, Transaction } from "./database.ts";
import { listRevocations, revoke, wholeUntil } from "./revocations.ts";

export const identities = (reader: Pool): Identities => ({
  byName: (agent) => reader.run((sql) => findIdentity(sql, sql`a.name = ${agent}`)),
  byId: (agentId) => reader.run((sql) => findIdentity(sql, sql`a.agent_id = ${agentId}`)),
  revocations: (query) => reader.run((sql) => listRevocations(sql, query)),
  revocationsWholeUntilMs: () => reader.run(wholeUntil),
});

export const agentRevocations = (writer: Pool): AgentRevocations => ({
  revoke: (revocation) =>
    writer.transaction(async (tx) => {
      const isNew = await revoke(tx, revocation);
      const identity = await findIdentity(tx, tx`a.agent_id = ${revocation.agentId}`);
      return identity && { identity, isNew };
    }),
});

interface IdentityRow extends Omit<AgentIdentity, "keys"> {
  readonly jwk: PublicJwk | null;
  readonly thumbprint: string | null;
}

/** `as_of` is the greatest of three times, so that it never falls although clocks differ. */
async function findIdentity(
  sql: Sql | Transaction,
  condition: ReturnType<Sql> | ReturnType<Transaction>,
): Promise<AgentIdentity | undefined> {
  const [row] = await sql<IdentityRow[]>`
    select a.agent_id as "agentId", a.name as agent, i.jwk, i.thumbprint, r.reason as "revokedReason",
      case when r.agent_id is not null then 'revoked' else coalesce(i.status, 'none') end as status,
      coalesce(i.anchor_version, 0) as "anchorVersion", greatest(a.created_at, i.as_of, r.as_of) as "asOfMs"
    from agent a left join agent_identity i using (agent_id) left join revocation r using (agent_id)
    where ${condition}`;
  if (row === undefined) return undefined;
  const { jwk, thumbprint, ...identity } = row;
  const hasKey = identity.status === "enrolled" && jwk !== null && thumbprint !== null;
  return { ...identity, keys: hasKey ? [{ kid: thumbprint, publicJwk: jwk }] : [] };
}
