import { deflateRawSync } from "node:zlib";
import { bad, type Finding, good, note } from "@svc/host/finding";
import { examineSchema, type RecordReader, type Row, schemaWords } from "@svc/seals";
import type { EvictionPolicy } from "../ports/replay-guard.ts";
import type { Sql } from "../postgres/database.ts";
import { connect } from "../postgres/database.ts";
import { ownersOwn, presentState } from "../postgres/migrate.ts";
import { type ConnectionFault, requireOwnServerProcess } from "../postgres/server-process.ts";
import { parseStoreAddress } from "../redis/address.ts";
import type { StoreFault } from "../redis/fault.ts";
import { redisGuard } from "../redis/guard.ts";
import { failingSinks } from "./check-sinks.ts";
import type { Config, ConfigResult } from "./config.ts";

/** Checks secrets, switches and the rights of the database role. No finding contains a value. */
export async function* checkSettings(result: ConfigResult): AsyncGenerator<Finding> {
  for (const warning of result.warnings) yield note(warning, "Correct it, or remove it.");
  if (result.ok) {
    yield* settingsFindings(result.config);
    yield* databaseFindings(result.config);
    yield* storeFindings(result.config);
  } else {
    for (const fault of result.faults) yield bad(fault, "Every setting is listed in apps/control-plane/README.md.");
  }
}

async function* databaseFindings(config: Config): AsyncGenerator<Finding> {
  const { databaseUrl, migrationDatabaseUrl, auditDatabaseUrl } = config;
  if (databaseUrl === undefined) return;
  const isReached = yield* connectionFindings("DATABASE_URL", databaseUrl);
  if (migrationDatabaseUrl !== undefined) yield* connectionFindings("SVC_MIGRATION_DATABASE_URL", migrationDatabaseUrl);
  if (auditDatabaseUrl !== undefined) yield* connectionFindings("AUDIT_DATABASE_URL", auditDatabaseUrl);
  if (isReached) yield* roleFindings(databaseUrl);
}

/** Returns whether the database was reached. */
async function* connectionFindings(setting: string, url: string): AsyncGenerator<Finding, boolean> {
  try {
    await requireOwnServerProcess(setting, url);
    yield good(`each connection of ${setting} has a server process of its own`);
    return true;
  } catch (cause) {
    const { what, remedy, isUnreachable } = cause as ConnectionFault;
    yield bad(`${setting}: ${what}`, remedy);
    return !isUnreachable;
  }
}

const storePatienceMs = 5_000;

async function* storeFindings({ redisUrl }: Config): AsyncGenerator<Finding> {
  if (redisUrl === undefined) return;
  const guard = redisGuard({ address: parseStoreAddress(redisUrl), deadlineMs: storePatienceMs });
  try {
    await guard.connected(storePatienceMs);
    await guard.ping();
    yield good("the cache store takes the entries of the replay guard");
    yield* evictionFindings(await guard.evictionPolicy());
  } catch (cause) {
    const { what, remedy } = cause as StoreFault;
    yield bad(`REDIS_URL: ${what}`, remedy);
  } finally {
    await guard.close();
  }
}

function* evictionFindings(policy: EvictionPolicy): Generator<Finding> {
  if (policy === "evicts") yield bad("the cache store may evict spends", "Set its maxmemory-policy to noeviction.");
  if (policy === "unknown") {
    yield note(
      "the cache store does not report its eviction policy",
      "It must be noeviction; +info lets it be checked.",
    );
  }
}

async function* roleFindings(databaseUrl: string): AsyncGenerator<Finding> {
  const sql = connect({ url: databaseUrl, maxConnections: 1, statementTimeoutMs: 5_000 });
  try {
    yield* rightsFindings(sql);
    yield* schemaFindings(sql);
    for (const { sink, fault } of await failingSinks(sql)) {
      yield bad(
        `the sink ${sink} takes no rows: ${fault}`,
        "Correct its receiver or settings; svc sink status shows since when.",
      );
    }
  } catch (cause) {
    const { code = "no answer" } = cause as { code?: string };
    yield bad(
      `the rights of the database role cannot be read (${code})`,
      "Check DATABASE_URL, and that it answers here.",
    );
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const drawOne = "Draw one at random: openssl rand -base64 32.";

function* settingsFindings(config: Config): Generator<Finding> {
  yield config.dev
    ? bad("SVC_DEV is on: secrets are made up, and required settings may be absent", "Unset SVC_DEV.")
    : good("development mode is off");
  yield* secretFindings(secretsOf(config));
  yield* deciding(config);
  yield* exposure(config);
}

interface Secret {
  readonly setting: string;
  readonly text: string;
}

const secretsOf = ({
  bearers,
  madeUpAdminToken,
  telemetryKey,
  keyEncryptionKey,
  signIn,
  sinks,
}: Config): readonly Secret[] =>
  [
    ...bearers.admin.map(({ token }) => ({ setting: "SVC_ADMIN_TOKEN", text: token })),
    ...bearers.audit.map(({ token }) => ({ setting: "SVC_AUDIT_TOKEN", text: token })),
    ...bearers.identity.map(({ token }) => ({ setting: "SVC_IDENTITY_TOKEN", text: token })),
    ...bearers.enforcement.map(({ token }) => ({ setting: "SVC_ENFORCEMENT_TOKEN", text: token })),
    ...bearers.signals.map(({ token }) => ({ setting: "SVC_SIGNALS_TOKEN", text: token })),
    { setting: "SVC_TELEMETRY_KEY", text: telemetryKey ?? "" },
    { setting: "SVC_SINK_WEBHOOK_SECRET", text: sinks.webhook?.secret ?? "" },
    { setting: "SVC_IDP_CLIENT_SECRET", text: signIn?.clientSecret ?? "" },
    { setting: "SVC_KEY_ENCRYPTION_KEY", text: Buffer.from(keyEncryptionKey ?? []).toString("base64") },
  ].filter(({ text }) => text !== "" && text !== madeUpAdminToken);

function* secretFindings(secrets: readonly Secret[]): Generator<Finding> {
  const guessable = settingsOf(secrets.filter(({ text }) => looksGuessable(text)));
  for (const setting of guessable) yield bad(`${setting} can be guessed: it is not random`, drawOne);
  const byText = Map.groupBy(secrets, ({ text }) => text);
  const shared = [...byText.values()].map(settingsOf).filter(({ length }) => length > 1);
  for (const settings of shared) {
    yield bad(`${settings.join(" and ")} hold the same secret`, "Give each a secret of its own.");
  }
  if (guessable.length === 0 && shared.length === 0) yield good("no secret looks guessable, none is used twice");
}

const settingsOf = (secrets: readonly Secret[]): readonly string[] => [...new Set(secrets.map((each) => each.setting))];

function* deciding({ identityRequired, mayObserve, discloseIdentities }: Config): Generator<Finding> {
  yield identityRequired
    ? good("every hop needs proof of an enrolled agent's key")
    : note("a token alone is enough for a hop", "Enroll the agents, then set SVC_IDENTITY_REQUIRED=true.");
  // No scope has this name, so only `*` admits it.
  yield mayObserve("\u0000")
    ? note("any scope may be observed without enforcement", "Set SVC_OBSERVE_SCOPES to those that are, or to none.")
    : good("only named scopes may be observed without enforcement");
  if (discloseIdentities) {
    yield note(
      "traces and logs name agents in plain text",
      "Unset SVC_TELEMETRY_DISCLOSE_IDENTITIES unless it is intended.",
    );
  }
}

function* exposure(config: Config): Generator<Finding> {
  if (config.issuer === undefined) {
    yield note("the issuer is the address it listens on", "Set SVC_ISSUER to the issuer that verifiers expect.");
  }
  if (config.databaseUrl === undefined) {
    yield note("the record is in an embedded database on this machine", "Set DATABASE_URL.");
  }
  if (config.redisUrl === undefined) {
    yield note("the replay guard is in one process, and is lost at its end", "Set REDIS_URL.");
  }
}

/** Too long to be in a random token by chance. */
const words =
  /change.?me|password|passwd|secret|token|admin|audit|identity|example|default|letmein|qwert|abcdef|123456|dummy|sample/i;

/** 16 random bytes have 70 bits and more, in any encoding. */
const leastSpreadBits = 64;
/** 16 random bytes deflate to 190 bits and more, a repetition to 120 and less. */
const leastDeflatedBits = 128;

/** A word, few different characters, or a repetition. A secret that passes may still be weak. */
export const looksGuessable = (secret: string): boolean =>
  words.test(secret) ||
  spreadBits(secret) < leastSpreadBits ||
  deflateRawSync(secret, { level: 9 }).length * 8 < leastDeflatedBits;

/** Shannon entropy over the characters. */
function spreadBits(secret: string): number {
  const characters = Map.groupBy(secret, (character) => character);
  const shares = [...characters.values()].map(({ length }) => length / secret.length);
  return -secret.length * shares.reduce((sum, share) => sum + share * Math.log2(share), 0);
}

/** The service's role may only read the record and add to it (docs/reference/record.md#append-only). */
async function* rightsFindings(sql: Sql): AsyncGenerator<Finding> {
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
  const closed = tables.filter(({ adds, table }) => !adds && !ownersOwn.includes(table)).map(({ table }) => table);
  if (closed.length > 0) {
    yield bad(
      `the service's role may not add to the record: ${closed.join(", ")}`,
      'Run the control plane with "migrate".',
    );
  }
  yield role.creates
    ? bad("the service's role can create objects in the schema", "revoke create on schema public from it.")
    : good("the service's role creates nothing in the schema");
  yield role.isDurable
    ? good("the database server writes through to its disk")
    : bad("fsync or full_page_writes is off: a crash loses the record", "Turn both on in the server's configuration.");
}

/** What acts on the tables of the record, or hides their rows, is as the migrations made it. */
async function* schemaFindings(sql: Sql): AsyncGenerator<Finding> {
  const [ledger] = await sql`select from pg_catalog.pg_class where oid = to_regclass('public.schema_migration')`;
  if (ledger === undefined) return;
  const query: RecordReader["query"] = ({ text, values }) => sql.unsafe<Row[]>(text, values);
  const findings = await examineSchema({ query });
  if (findings.length === 0) yield good("the tables of the record are as the migrations made them");
  for (const { kind, ...names } of findings) {
    const remedy = "Find out who changed it, let a database administrator undo it, then run svc audit verify.";
    yield bad(`the record: ${schemaWords[kind](names)}`, remedy);
  }
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

/** Each of the attributes alone lets a role change every table. */
async function readRole(sql: Sql) {
  const [row] = await sql<{ attributes: string[]; creates: boolean; isDurable: boolean }[]>`
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
  readonly adds: boolean;
}

const readTables = (sql: Sql): Promise<readonly TableRights[]> => sql<TableRights[]>`
  select relname as table, pg_has_role(relowner, 'member') as owns,
    has_table_privilege(c.oid, 'insert') and has_table_privilege(c.oid, 'select') as adds,
    has_any_column_privilege(c.oid, 'update') or has_table_privilege(c.oid, 'delete, truncate, trigger') as changes
  from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname`;
