import type { DecisionRecord } from "@svc/core";
import { arrayLiteral, type Value } from "./row-literals.ts";

/**
 * Every column of a record, in the order of the type `decision_insert`. A new column is a line here, a migration that
 * adds it, and a new insert type.
 */
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

export const insertedColumns = names.join(", ");

/** For `insert ... select` from rows `r` of `decision_insert`. */
export const rowColumns = names.map((name) => `r.${name}`).join(", ");

export const toRow = (record: DecisionRecord): readonly Value[] =>
  members.map((member) => (member === "decidedAtMs" ? isoOf(record.decidedAtMs) : toValue(record[member])));

const isoOf = (epochMs: number): string => new Date(epochMs).toISOString();

function toValue(value: DecisionRecord[keyof DecisionRecord]): Value {
  if (Array.isArray(value)) return arrayLiteral(value);
  return typeof value === "object" ? value && JSON.stringify(value) : (value as Value);
}
