import type { Ids } from "../ports/clock.ts";
import { DatabaseUnavailable, type Pool, type Transaction } from "./database.ts";

/** The primary serves, and the record cannot be written: a right, a table or a partition is missing, or its disk is full. */
export class RecordNotWritable extends Error {}

/** Resolves if the primary takes a durable commit of a call's records now (docs/reference/routes.md#health). */
export async function probeDatabase(pool: Pool, ids: Ids): Promise<void> {
  const [row] = await pool.rows<{ writable: boolean; durable: boolean }>`
    select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable,
      current_setting('fsync') = 'on' and current_setting('synchronous_commit') <> 'off' as durable
    from denial_epoch`;
  if (row === undefined) throw new RecordNotWritable("the denial epoch's row is missing: the schema is damaged");
  if (!row.writable) throw new Error("the database is read-only");
  if (!row.durable) throw new Error("the database may lose commits that it acknowledged");
  await tryToRecord(pool, ids).catch((fault: unknown) => {
    if (fault instanceof RolledBack) return;
    throw fault instanceof DatabaseUnavailable
      ? new RecordNotWritable("the record cannot be written", { cause: fault.cause })
      : fault;
  });
}

class RolledBack extends Error {}

/** Rolled back, so that no row is left. The identifier leads to this month's partition. */
const tryToRecord = (pool: Pool, ids: Ids): Promise<void> =>
  pool.transaction(async (tx) => {
    await insertEverywhere(tx, ids.next(), new Date(0));
    throw new RolledBack();
  });

const insertEverywhere = (tx: Transaction, id: string, at: Date) => tx`
  with a_decision as (
    insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
      data_class, decision, recoverable, enforced, privileged, taint, policy_version, decided_at)
    values (${id}, 0, ${id}, 'authorize', 1, '{}', '', '', 'tool', '', 'allow', false, true, false, 'trusted_internal', 0,
      ${at})
  ), a_spend as (
    insert into spend (jti_hash, action_id, session_id, kind, spent_at)
    values (decode(replace(${id}, '-', ''), 'hex'), ${id}, ${id}, 'exchange', ${at})
  ), a_mint as (
    insert into mint (action_id, session_id, params_hash, minted_at) values (${id}, ${id}, '', ${at})
  ), a_mark as (
    insert into taint_mark (session_id, source, action_id, marked_at) values (${id}, '', ${id}, ${at})
  )
  insert into administrative_event (event_id, kind, ts, actor) values (${id}, '', ${at}, '')`;
