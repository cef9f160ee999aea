import type { DecisionRecord } from "@svc/core";
import type { Epochs } from "../ports/session-state.ts";
import type { Sql, Transaction } from "./database.ts";
import { insertedColumns, rowColumns, toRow } from "./decision-columns.ts";
import { rowsLiteral } from "./row-literals.ts";

/** A record to commit under the epochs of its decision. */
export interface Append {
  readonly record: DecisionRecord;
  readonly epochs: Epochs;
}

/**
 * Inserts each record whose epochs still hold, in one statement, and returns for each whether it did. A delegation
 * takes a lock that keeps marks away from its session until the commit.
 */
export async function insertDecisions(
  sql: Sql | Transaction,
  appends: readonly Append[],
  locksMarks = false,
): Promise<readonly boolean[]> {
  const rows = appends.map(({ record, epochs }) => [...toRow(record), epochs.session, epochs.denials]);
  const inserted = await sql<{ action_id: string }[]>`
    insert into decision (${sql.unsafe(insertedColumns)})
    select ${sql.unsafe(rowColumns)}
    from unnest(${rowsLiteral(rows)}::text::decision_insert[]) as r
      join session_state st on st.session_id = r.session_id and st.epoch = r.session_epoch
      join denial_epoch d on d.epoch = r.denial_epoch
    ${locksMarks ? sql`for share of st` : sql``}
    returning action_id`;
  const ids = new Set(inserted.map(({ action_id }) => action_id));
  return appends.map(({ record }) => ids.has(record.actionId));
}
