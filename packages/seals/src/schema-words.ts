import type { SchemaFault, SchemaFinding } from "./schema.ts";

type Names = Omit<SchemaFinding, "kind">;

/** What was found at a table, as a sentence. Names are as the database has them: the caller escapes them. */
export const schemaWords: Readonly<Record<SchemaFault, (names: Names) => string>> = {
  table_replaced: ({ table }) => `${table} is missing, or no ordinary logged table`,
  table_owner: ({ table }) => `${table} has another owner than the rest of the schema`,
  row_security: ({ table }) => `row-level security of ${table} can hide rows`,
  rule: ({ table, name }) => `the rule ${name} rewrites statements on ${table}`,
  trigger_foreign: ({ table, name }) => `the trigger ${name} of ${table} is not the service's`,
  protection_off: ({ table, name }) => `the trigger ${name} of ${table} is missing, off or changed`,
  protection_changed: ({ name }) => `the function ${name}, which refuses changes of records, was replaced`,
  partition_detached: ({ table }) => `${table} is detached from the log: its decisions are not read`,
  partition_foreign: ({ table }) => `${table} is part of the record, but no month of it`,
};
