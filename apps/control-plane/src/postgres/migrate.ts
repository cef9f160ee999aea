import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { codeOf, onConnection, type Sql, type Transaction } from "./database.ts";

/** Reached the same way from `src` and from `dist`. */
const shipped = new URL("../../src/postgres/migrations/", import.meta.url);
/** Any constant, the same in every process. */
const advisoryLock = 7_270_125_023;

/** A waiting migration blocks every later statement on its table, so it gives up soon and tries again. */
const lockTimeoutMs = 2_000;
const defaultAttempts = 15;
const pauseMs = 1_000;

export interface MigrationSettings {
  /** The owner's connection. */
  readonly ownerUrl: string;
  /** The service's connection. Its role gets its rights. */
  readonly appUrl: string;
  /** Default: the service's own migrations. They run in the order of their names. */
  readonly folder?: URL;
  /** On a table that is in use. Default 15, in three quarters of a minute. */
  readonly attempts?: number;
}

/** The schema is as it was before the migration, and running processes serve on. */
export class TableBusy extends Error {
  constructor(what: string, attempts: number, options: ErrorOptions) {
    super(
      `${what} gave up: a table it changes was in use at each of ${attempts} attempts. Find who holds it (select pid, ` +
        "query from pg_stat_activity where xact_start < now() - interval '1 minute'), end that transaction, and start again.",
      options,
    );
  }
}

/**
 * Brings the schema up to date, one process at a time, each migration in one transaction. A migration that was changed
 * after it was applied is an error. An unknown one comes from a newer build (docs/adr/0043-expand-then-contract.md).
 */
export async function migrate(settings: MigrationSettings): Promise<void> {
  const { ownerUrl, appUrl, folder = shipped, attempts = defaultAttempts } = settings;
  await onConnection(ownerUrl, 60_000, async (sql) => {
    const step = (what: string, work: Work) => exclusively(sql, what, attempts, work);
    await step(
      "making the ledger of migrations",
      (tx) => tx`
        create table if not exists schema_migration
          (name text primary key, checksum text not null, applied_at timestamptz not null default now())`,
    );
    for (const migration of await readMigrations(folder)) {
      await step(`migration ${migration.name}`, (tx) => apply(tx, migration));
    }
    await step("granting the service its rights", (tx) => grantTo(tx, appUrl));
  });
}

/** For processes of which a job migrates the schema. @throws if the schema is older than this build. */
export async function requireMigrated({
  appUrl,
  folder = shipped,
}: Omit<MigrationSettings, "ownerUrl">): Promise<void> {
  await onConnection(appUrl, 5_000, async (sql) => {
    const [ledger] = await sql`select from pg_catalog.pg_class where oid = to_regclass('schema_migration')`;
    const rows = ledger === undefined ? [] : await sql<{ name: string }[]>`select name from schema_migration`;
    const missing = (await readMigrations(folder)).find(({ name }) => !rows.some((row) => row.name === name));
    if (missing !== undefined) throw new Error(`the schema lacks migration ${missing.name}: run "migrate" first`);
  });
}

async function readMigrations(folder: URL) {
  const names = (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), "utf8");
      return { name, text, checksum: createHash("sha256").update(text).digest("hex") };
    }),
  );
}

type Work = (tx: Transaction) => PromiseLike<unknown>;

async function exclusively(sql: Sql, what: string, attempts: number, work: Work): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await sql.begin(async (tx) => {
        await tx`select set_config('lock_timeout', '50s', true)`;
        await tx`select pg_advisory_xact_lock(${advisoryLock})`;
        await tx`select set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true)`;
        await work(tx);
      });
      return;
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (attempt === attempts) throw new TableBusy(what, attempts, { cause: error });
      await delay(pauseMs);
    }
  }
}

/** `lock_not_available`, `deadlock_detected`. */
const isBusy = (error: unknown): boolean => ["55P03", "40P01"].includes(codeOf(error));

async function apply(
  tx: Transaction,
  { name, text, checksum }: Awaited<ReturnType<typeof readMigrations>>[number],
): Promise<void> {
  const [known] = await tx<{ checksum: string }[]>`select checksum from schema_migration where name = ${name}`;
  if (known !== undefined && known.checksum !== checksum) {
    throw new Error(`migration ${name} was changed after it was applied`);
  }
  if (known !== undefined) return;
  await tx.unsafe(text);
  await tx`insert into schema_migration (name, checksum) values (${name}, ${checksum})`;
}

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
  "sign_in",
  "signal_stream",
  "sink",
];

const deletable = ["block", "signal_stream"];

/** Only the owner writes them. */
export const ownersOwn: readonly string[] = [
  "schema_migration",
  "retention",
  "retired_month",
  "unmarked",
  "would_block_group",
  "would_block_count",
  "would_block_slice",
  "would_block_place",
  "would_block_progress",
];

/** They run with the owner's rights and take no argument. */
const housekeepingFunctions = [
  "make_decision_partitions",
  "retire_oldest_month",
  "purge_retired_spends",
  "purge_ended",
  "count_would_blocks",
  "purge_retired_counts",
  "purge_past_consents",
  "purge_pushed_events",
  "purge_received_sets",
];

/** Runs after every migration, so that new tables are covered. Nothing if the owner itself serves. */
async function grantTo(tx: Transaction, appUrl: string): Promise<void> {
  const role = decodeURIComponent(new URL(appUrl).username);
  const [row] = await tx<{ owner: string }[]>`select current_user as owner`;
  if (role === "" || role === row?.owner) return;
  await tx`grant usage on schema public to ${tx(role)}`;
  await tx`grant select, insert on all tables in schema public to ${tx(role)}`;
  for (const { name } of await thoseThere(tx, ownersOwn)) await tx`revoke insert on ${tx(name)} from ${tx(role)}`;
  for (const { name } of await thoseThere(tx, presentState)) await tx`grant update on ${tx(name)} to ${tx(role)}`;
  for (const { name } of await thoseThere(tx, deletable)) await tx`grant delete on ${tx(name)} to ${tx(role)}`;
  const functions = await tx<{ name: string }[]>`
    select proname as name from pg_catalog.pg_proc
    where pronamespace = 'public'::regnamespace and proname = any(${housekeepingFunctions}::text[])`;
  for (const { name } of functions) await tx`grant execute on function ${tx(name)}() to ${tx(role)}`;
}

/** A build with fewer migrations has fewer of these tables. */
const thoseThere = (tx: Transaction, tables: readonly string[]) => tx<{ name: string }[]>`
  select relname as name from pg_catalog.pg_class
  where relnamespace = 'public'::regnamespace and relname = any(${tables}::text[])`;
