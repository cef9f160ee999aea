import type { Revocation, RevocationQuery, RevokeAgent } from "../ports/identities.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import type { Sql, Transaction } from "./database.ts";
import { replaceDenialEpoch } from "./denial-epoch.ts";

/**
 * Serializes all changes of identities until the commit: `as_of` rises in the order in which revocations become visible,
 * and no enrollment completes beside a revocation. Call it first, so that transaction numbers rise in the same order.
 */
export async function lockIdentities(tx: Transaction): Promise<void> {
  await tx`select from denial_epoch for update`;
}

/** False if the agent was revoked before, or is unknown. */
export async function revoke(tx: Transaction, revocation: RevokeAgent): Promise<boolean> {
  const { agentId, reason, revokedBy, eventId, atMs } = revocation;
  await lockIdentities(tx);
  const [inserted] = await tx<{ agent: string }[]>`
    insert into revocation (agent_id, agent, reason, as_of)
    select agent_id, name, ${reason},
      greatest(date_trunc('milliseconds', clock_timestamp()), (select max(as_of) from revocation))
    from agent where agent_id = ${agentId}
    on conflict do nothing returning agent`;
  if (inserted === undefined) return false;
  await replaceDenialEpoch(tx);
  const { agent } = inserted;
  const details = { agent_id: agentId };
  await insertAdministrativeEvent(tx, {
    eventId,
    kind: "agent_revoked",
    atMs,
    actor: revokedBy,
    agent,
    reason,
    details,
  });
  return true;
}

export const listRevocations = (sql: Sql, { sinceMs, after, limit }: RevocationQuery) => sql<Revocation[]>`
  select agent_id as "agentId", agent, as_of as "asOfMs" from revocation
  where true
    ${sinceMs === undefined ? sql`` : sql`and as_of >= ${new Date(sinceMs)}`}
    ${after === undefined ? sql`` : sql`and (as_of, agent_id) > (${new Date(after.asOfMs)}, ${after.agentId})`}
  order by as_of, agent_id limit ${limit}`;

/**
 * The newest revocation with no older transaction still running. A number beyond the snapshot comes from another
 * cluster's backup, where it was committed long ago.
 */
export async function wholeUntil(sql: Sql): Promise<number> {
  const [newest] = await sql<{ asOfMs: number }[]>`
    select r.as_of as "asOfMs" from revocation r cross join pg_current_snapshot() s
    where r.recorded_in < pg_snapshot_xmin(s) or r.recorded_in >= pg_snapshot_xmax(s)
    order by r.as_of desc limit 1`;
  return newest?.asOfMs ?? 0;
}
