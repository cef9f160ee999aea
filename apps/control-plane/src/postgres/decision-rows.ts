import type { DecisionRecord } from "@svc/core";
import type { Epochs } from "../ports/sessions.ts";
import type { Sql, Transaction } from "./database.ts";
import { arrayLiteral, rowsLiteral, type Value } from "./row-literals.ts";

/** In the order of the type `decision_insert`. A new column is a line here, a migration, and a new insert type. */
const columns: Readonly<Record<keyof DecisionRecord, string>> = {
  actionId: "action_id",
  recordVersion: "record_version",
  sessionId: "session_id",
  stage: "stage",
  hop: "hop",
  chain: "chain",
  actingAgent: "acting_agent",
  target: "target",
  targetKind: "target_kind",
  dataClass: "data_class",
  decision: "decision",
  denyReason: "deny_reason",
  recoverable: "recoverable",
  enforced: "enforced",
  privileged: "privileged",
  taint: "taint",
  taintSource: "taint_source",
  policyVersion: "policy_version",
  guaranteeLevel: "guarantee_level",
  parentActionId: "parent_action_id",
  decidedAtMs: "decided_at",
  present: "present",
};

const names = Object.values(columns);
const members = Object.keys(columns) as (keyof DecisionRecord)[];

/** For `select` from the decision table `d`: the row is the record. */
export const selectedColumns = Object.entries(columns)
  .map(([member, name]) => `d.${name} as "${member}"`)
  .join(", ");

const insertedColumns = names.join(", ");

/** For `insert ... select` from rows `r` of `decision_insert`. */
const rowColumns = names.map((name) => `r.${name}`).join(", ");

const toRow = (record: DecisionRecord): readonly Value[] =>
  members.map((member) =>
    member === "decidedAtMs" ? new Date(record.decidedAtMs).toISOString() : toValue(record[member]),
  );

function toValue(value: DecisionRecord[keyof DecisionRecord]): Value {
  if (Array.isArray(value)) return arrayLiteral(value);
  return typeof value === "object" ? value && JSON.stringify(value) : (value as Value);
}

/** A record to commit under the epochs of its decision. */
export interface Append {
  readonly record: DecisionRecord;
  readonly epochs: Epochs;
}

/** Inserts each record whose epochs hold, and returns which. A delegation keeps marks away until its commit. */
export async function insertDecisions(
  sql: Sql | Transaction,
  appends: readonly Append[],
  locksMarks = false,
): Promise<readonly boolean[]> {
  const inserted = await sql<{ action_id: string }[]>`
    ${insertion(sql, appends, locksMarks ? sql`for share of st` : sql``)} returning action_id`;
  const ids = new Set(inserted.map(({ action_id }) => action_id));
  return appends.map(({ record }) => ids.has(record.actionId));
}

/** The statement without its `returning`. */
export function insertion(sql: Sql | Transaction, appends: readonly Append[], lock = sql``) {
  const rows = appends.map(({ record, epochs }) => [...toRow(record), epochs.session, epochs.denials]);
  return sql`
    insert into decision (${sql.unsafe(insertedColumns)})
    select ${sql.unsafe(rowColumns)}
    from unnest(${rowsLiteral(rows)}::text::decision_insert[]) as r
      join session_state st on st.session_id = r.session_id and st.epoch = r.session_epoch
      join denial_epoch d on d.epoch = r.denial_epoch
    ${lock}`;
}
