import type { Revocation, RevocationQuery, RevokeAgent } from "../ports/identities.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import type { Sql, Transaction } from "./database.ts";
import { replaceDenialEpoch } from "./denial-epoch.ts";

/**
 * Puts every change of identities in one row, until commit: so `as_of` rises in the order in which revocations become
 * visible, and no enrollment completes beside a revocation. First in its transaction: the transaction gets its number
 * under the lock, so numbers rise alike.
 */
export async function lockIdentities(tx: Transaction): Promise<void> {
  await tx`select from denial_epoch for update`;
}

/** False where nothing was to be done: revoked before, or no such agent. */
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
  await insertAdministrativeEvent(tx, {
    eventId,
    kind: "agent_revoked",
    atMs,
    actor: revokedBy,
    sessionId: null,
    agent: inserted.agent,
    reason,
    details: { agent_id: agentId },
  });
  return true;
}

interface RevocationRow {
  agent_id: string;
  agent: string;
  as_of: Date;
}

export async function listRevocations(
  sql: Sql,
  { sinceMs, after, limit }: RevocationQuery,
): Promise<readonly Revocation[]> {
  const rows = await sql<RevocationRow[]>`
    select agent_id, agent, as_of from revocation
    where true
      ${sinceMs === undefined ? sql`` : sql`and as_of >= ${new Date(sinceMs)}`}
      ${after === undefined ? sql`` : sql`and (as_of, agent_id) > (${new Date(after.asOfMs)}, ${after.agentId})`}
    order by as_of, agent_id limit ${limit}`;
  return rows.map(({ agent_id, agent, as_of }) => ({ agentId: agent_id, agent, asOfMs: as_of.getTime() }));
}

/**
 * The newest revocation behind which no transaction is still at work. One that claims a number beyond the snapshot came
 * out of another cluster's backup, where it was committed long ago.
 */
export async function wholeUntil(sql: Sql): Promise<number> {
  const [newest] = await sql<{ as_of: Date }[]>`
    select r.as_of from revocation r cross join pg_current_snapshot() s
    where r.recorded_in < pg_snapshot_xmin(s) or r.recorded_in >= pg_snapshot_xmax(s)
    order by r.as_of desc limit 1`;
  return newest?.as_of.getTime() ?? 0;
}
