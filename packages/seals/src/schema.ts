import { sha256Base64url } from "@svc/tokens";
import type { Row } from "./leaf.ts";
import type { RecordReader } from "./record-reader.ts";

/**
 * What can be wrong with a table of the record. `table_replaced`: it is missing, or no ordinary logged table.
 * `table_owner`: it has another owner than the schema's ledger of migrations. `row_security`: rows may be hidden from a
 * role. `rule`, `trigger_foreign`: something else acts on its rows. `protection_off`: a trigger that keeps it append-only
 * is missing, off, or another. `protection_changed`: such a trigger's function is. `partition_detached`: a month is no
 * part of the log. `partition_foreign`: something that is no month is.
 */
export type SchemaFault =
  | "table_replaced"
  | "table_owner"
  | "row_security"
  | "rule"
  | "trigger_foreign"
  | "protection_off"
  | "protection_changed"
  | "partition_detached"
  | "partition_foreign";

export interface SchemaFinding {
  readonly kind: SchemaFault;
  readonly table?: string;
  /** Of the rule, trigger or function. */
  readonly name?: string;
}

/** Every append-only table, and the function that refuses changes of its rows. */
export const recordTables: Readonly<Record<string, ProtectingFunction>> = {
  administrative_event: "refuse_change",
  agent: "refuse_change",
  claimed_name: "refuse_change",
  compiled_policy: "refuse_change",
  decision: "refuse_change",
  enroll_token: "refuse_change_unless_lapsed",
  manifest_scope: "refuse_change",
  manifest_version: "refuse_change",
  mint: "refuse_change_unless_retired",
  reconciliation_report: "refuse_change",
  retired_month: "refuse_change",
  revocation: "refuse_change",
  seal: "refuse_change",
  server_origin: "refuse_change",
  session: "refuse_change",
  spend: "refuse_change_unless_retired",
  taint_mark: "refuse_change",
  tool_definition: "refuse_change",
  tool_fact: "refuse_change",
  unmarked: "refuse_change",
};

type ProtectingFunction = keyof typeof functionHashes;

/** base64url(SHA-256) of each function's source text, in every release so far. */
const functionHashes = {
  refuse_change: ["gLkT7EGfoi8Cpx4YvFokBt-Jzs8BD1nVerrTcGkG1DE"],
  refuse_change_unless_lapsed: ["FI_AFtTINKEOwwFMcAG50uVYOWDZZ3O7Aiyb5M4hfpQ"],
  refuse_change_unless_retired: ["8XLOXHplUCr0IWqWKQFHtYsT5nw6LbwNlXcbG18MA1A"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Compares the tables of the record, their parts and what acts on their rows with the schema as it was migrated. */
export async function examineSchema(reader: RecordReader): Promise<readonly SchemaFinding[]> {
  const names = Object.keys(recordTables).join(",");
  const read = (text: string) => reader.query({ text: `${parts} ${text}`, values: [names] });
  const tables = await read(tablesQuery);
  const missing = Object.keys(recordTables).filter((name) => !tables.some((row) => row.table === name));
  const rules = await read(rulesQuery);
  return [
    ...missing.map((table): SchemaFinding => ({ kind: "table_replaced", table })),
    ...tables.flatMap(tableFindings),
    ...(await read(detachedQuery)).map(
      ({ table }): SchemaFinding => ({ kind: "partition_detached", table: table ?? "" }),
    ),
    ...rules.map(({ table, name }): SchemaFinding => ({ kind: "rule", table: table ?? "", name: name ?? "" })),
    ...triggerFindings(tables, await read(triggersQuery)),
    ...(await functionFindings(reader)),
  ];
}

/** Each table of the record, and each of its parts, at any depth. `$1`: their names. */
const parts = `with recursive part as (
    select c.oid, c.relname::text as record, true as "isWhole" from pg_catalog.pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relname = any (string_to_array($1, ','))
    union all
    select i.inhrelid, part.record, false from pg_catalog.pg_inherits i join part on part.oid = i.inhparent
  )`;

/** Of `pg_class c`: with its schema where that is another, whatever the search path is. */
const nameOfTable = `(case when c.relnamespace = 'public'::regnamespace then '' else c.relnamespace::regnamespace::text || '.' end
  || c.relname)`;

const tablesQuery = `select ${nameOfTable} as "table", part.record, part."isWhole"::text as whole,
    c.relkind::text as kind, c.relpersistence::text as persistence, (c.relrowsecurity or c.relforcerowsecurity or
      exists (select from pg_catalog.pg_policy p where p.polrelid = c.oid))::text as hides,
    (c.relowner = (select relowner from pg_catalog.pg_class where oid = to_regclass('public.schema_migration')))::text as owned
  from part join pg_catalog.pg_class c on c.oid = part.oid order by 1`;

const detachedQuery = `select ${nameOfTable} as "table" from pg_catalog.pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname ~ '^decision_(default|\\d{4}_\\d{2})$'
    and c.oid not in (select oid from part) order by 1`;

const rulesQuery = `select ${nameOfTable} as "table", r.rulename::text as name
  from pg_catalog.pg_rewrite r join part on part.oid = r.ev_class
  join pg_catalog.pg_class c on c.oid = part.oid where c.relkind not in ('v', 'm') order by 1, 2`;

/** Foreign keys have internal ones. */
const triggersQuery = `select ${nameOfTable} as "table", t.tgname::text as name, t.tgtype::text as type,
    (case when p.pronamespace = 'public'::regnamespace then p.proname::text end) as function, (t.tgenabled = 'A' and t.tgqual is null and t.tgattr = '')::text as always
  from pg_catalog.pg_trigger t join part on part.oid = t.tgrelid
  join pg_catalog.pg_class c on c.oid = part.oid join pg_catalog.pg_proc p on p.oid = t.tgfoid where not t.tgisinternal order by 1, 2`;

function tableFindings({ table: name, record, whole, kind, persistence, hides, owned }: Row): readonly SchemaFinding[] {
  const table = name ?? "";
  const isWhole = whole === "true";
  const isOrdinary = persistence === "p" && kind === (isWhole && record === "decision" ? "p" : "r");
  const isForeign = !isWhole && !(record === "decision" && /^decision_(default|\d{4}_\d{2})$/.test(table));
  return [
    ...(isOrdinary ? [] : [{ kind: "table_replaced" as const, table }]),
    ...(isForeign ? [{ kind: "partition_foreign" as const, table }] : []),
    ...(owned === "true" ? [] : [{ kind: "table_owner" as const, table }]),
    ...(hides === "true" ? [{ kind: "row_security" as const, table }] : []),
  ];
}

/** By name, when each acts: a bit mask of row 1, before 2, delete 8, update 16, truncate 32 (`pg_trigger.tgtype`). */
const protection = { append_only: "27", append_only_whole: "34" } as const;

function triggerFindings(tables: readonly Row[], triggers: readonly Row[]): readonly SchemaFinding[] {
  const foreign = triggers.filter(({ name }) => !Object.hasOwn(protection, name ?? ""));
  const off = tables.flatMap(({ table, record }) =>
    Object.entries(protection).flatMap(([name, type]): readonly SchemaFinding[] => {
      const refuses = name === "append_only" ? recordTables[record ?? ""] : "refuse_change";
      const isOn = triggers.some(
        (each) =>
          each.table === table &&
          each.name === name &&
          each.type === type &&
          each.function === refuses &&
          each.always === "true",
      );
      return isOn ? [] : [{ kind: "protection_off", table: table ?? "", name }];
    }),
  );
  return [
    ...foreign.map(
      ({ table, name }): SchemaFinding => ({ kind: "trigger_foreign", table: table ?? "", name: name ?? "" }),
    ),
    ...off,
  ];
}

async function functionFindings(reader: RecordReader): Promise<readonly SchemaFinding[]> {
  const rows = await reader.query({
    text: `select p.proname::text as name, p.prosrc as source from pg_catalog.pg_proc p
      where p.pronamespace = 'public'::regnamespace and p.proname = any (string_to_array($1, ','))`,
    values: [Object.keys(functionHashes).join(",")],
  });
  const isKnown = (name: string, hashes: readonly string[]): boolean =>
    rows.some((row) => row.name === name && hashes.includes(sha256Base64url(row.source ?? "")));
  return Object.entries(functionHashes).flatMap(([name, hashes]) =>
    isKnown(name, hashes) ? [] : [{ kind: "protection_changed" as const, name }],
  );
}
