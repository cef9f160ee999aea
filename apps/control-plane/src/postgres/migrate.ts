import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { connect, type Transaction } from "./database.ts";

/** Shipped as it is, so reached the same way from `src` and from `dist`. */
const folder = new URL("../../src/postgres/migrations/", import.meta.url);
/** Any constant, the same in every process: one of them migrates, the others wait. */
const advisoryLock = 7_270_125_023;

export interface MigrationSettings {
  /** The owner's connection. */
  readonly ownerUrl: string;
  /** The service's connection: its role gets the rights to insert and select, and to update what is not a record. */
  readonly appUrl: string;
}

/**
 * Brings the schema up to date, once, however many processes start together. A migration that was changed after it
 * was applied stops the start.
 */
export async function migrate({ ownerUrl, appUrl }: MigrationSettings): Promise<void> {
  const sql = connect({ url: ownerUrl, maxConnections: 1, statementTimeoutMs: 60_000 });
  try {
    await sql.begin(async (tx) => {
      await tx`set local lock_timeout = '60s'`;
      await tx`select pg_advisory_xact_lock(${advisoryLock})`;
      await applyPending(tx);
      await grantTo(tx, await roleOf(appUrl, tx));
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function applyPending(tx: Transaction): Promise<void> {
  await tx`create table if not exists schema_migration (name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
  const rows = await tx<{ name: string; checksum: string }[]>`select name, checksum from schema_migration`;
  const applied = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  for (const name of (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort()) {
    const text = await readFile(new URL(name, folder), "utf8");
    const checksum = createHash("sha256").update(text).digest("hex");
    const known = applied.get(name);
    if (known !== undefined && known !== checksum)
      throw new Error(`migration ${name} was changed after it was applied`);
    if (known !== undefined) continue;
    await tx.unsafe(text);
    await tx`insert into schema_migration (name, checksum) values (${name}, ${checksum})`;
  }
}

async function roleOf(appUrl: string, tx: Transaction): Promise<string | undefined> {
  const user = decodeURIComponent(new URL(appUrl).username);
  const [row] = await tx<{ owner: string }[]>`select current_user as owner`;
  return user === "" || user === row?.owner ? undefined : user;
}

/** Tables that hold present state, not records. */
const presentState = [
  "session_state",
  "denial_epoch",
  "agent_identity",
  "block",
  "signing_key",
  "issuer_epoch",
  "enrollment",
];

/** Rights are granted anew at every run, so that a table added later is covered. Same role for both: nothing to grant. */
async function grantTo(tx: Transaction, role: string | undefined): Promise<void> {
  if (role === undefined) return;
  await tx`grant usage on schema public to ${tx(role)}`;
  await tx`grant select, insert on all tables in schema public to ${tx(role)}`;
  for (const table of presentState) await tx`grant update on ${tx(table)} to ${tx(role)}`;
  await tx`grant delete on block to ${tx(role)}`;
}
