import type { Transaction } from "./database.ts";

/** Tables with present state; all others hold records. */
export const presentState: readonly string[] = [
  "session_state",
  "denial_epoch",
  "agent_identity",
  "block",
  "signing_key",
  "issuer_epoch",
  "enrollment",
  "housekeeping",
  "witness",
];

/** Only the owner writes them. */
const ownersOwn = ["schema_migration", "retention", "retired_month"];

/** They run with the owner's rights and take no argument. */
const housekeepingFunctions = [
  "make_decision_partitions",
  "retire_oldest_month",
  "purge_retired_spends",
  "purge_ended",
];

/** Runs after every migration, so that new tables are covered. No role: the owner itself serves. */
export async function grantTo(tx: Transaction, role: string | undefined): Promise<void> {
  if (role === undefined) return;
  await tx`grant usage on schema public to ${tx(role)}`;
  await tx`grant select, insert on all tables in schema public to ${tx(role)}`;
  for (const table of ownersOwn) await tx`revoke insert on ${tx(table)} from ${tx(role)}`;
  for (const table of presentState) await tx`grant update on ${tx(table)} to ${tx(role)}`;
  await tx`grant delete on block to ${tx(role)}`;
  for (const name of housekeepingFunctions) await tx`grant execute on function ${tx(name)}() to ${tx(role)}`;
}
