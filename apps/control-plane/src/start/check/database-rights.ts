import type { Sql } from "../../postgres/database.ts";
import { presentState } from "../../postgres/grants.ts";
import { bad, type Finding, good } from "./finding.ts";

/** The service's role may only read the record and add to it (docs/reference/record.md#append-only). */
export async function* rightsFindings(sql: Sql): AsyncGenerator<Finding> {
  const role = await readRole(sql);
  if (role.attributes.length > 0) {
    const remedy = "Give DATABASE_URL a plain login role: deploy/postgres/roles.sql makes one.";
    yield bad(`the service's role is ${role.attributes.join(", ")}: the record can be rewritten with it`, remedy);
    return;
  }
  const tables = await readTables(sql);
  if (tables.length === 0) {
    yield bad("the schema is not there", 'Run the control plane with "migrate" first, as the schema\'s owner.');
    return;
  }
  const owned = tables.filter(({ owns }) => owns).length;
  if (owned > 0) {
    const remedy = "Let another role own it, named by SVC_MIGRATION_DATABASE_URL: deploy/postgres/roles.sql.";
    yield bad(`the service's role owns ${owned} of ${tables.length} tables: it can end their protection`, remedy);
    return;
  }
  yield recordFinding(tables);
  yield role.creates
    ? bad("the service's role can create objects in the schema", "revoke create on schema public from it.")
    : good("the service's role creates nothing in the schema");
  yield role.isDurable
    ? good("the database server writes through to its disk")
    : bad("fsync or full_page_writes is off: a crash loses the record", "Turn both on in the server's configuration.");
}

function recordFinding(tables: readonly TableRights[]): Finding {
  const changeable = tables.filter(({ changes, table }) => changes && !presentState.includes(table));
  if (changeable.length === 0) {
    return good(`the service's role only adds to the record, and reads it (${tables.length} tables)`);
  }
  return bad(
    `the service's role may change the record: ${changeable.map(({ table }) => table).join(", ")}`,
    "revoke update, delete, truncate, trigger on these tables from it.",
  );
}

interface RoleFacts {
  /** Each of them alone lets a role change every table. */
  readonly attributes: readonly string[];
  readonly creates: boolean;
  readonly isDurable: boolean;
}

async function readRole(sql: Sql): Promise<RoleFacts> {
  const [row] = await sql<RoleFacts[]>`
    select array_remove(array[
        case when rolsuper then 'a superuser' end,
        case when rolcreaterole then 'one that creates roles' end,
        case when rolreplication then 'one that replicates' end
      ], null) as attributes,
      has_schema_privilege('public', 'create') as creates,
      current_setting('fsync') = 'on' and current_setting('full_page_writes') = 'on' as "isDurable"
    from pg_roles where rolname = current_user`;
  if (row === undefined) throw new Error("the database does not know the role that is logged in");
  return row;
}

interface TableRights {
  readonly table: string;
  readonly owns: boolean;
  readonly changes: boolean;
}

const readTables = (sql: Sql): Promise<readonly TableRights[]> => sql<TableRights[]>`
  select relname as table, pg_has_role(relowner, 'member') as owns,
    has_any_column_privilege(c.oid, 'update') or has_table_privilege(c.oid, 'delete, truncate, trigger') as changes
  from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname`;
