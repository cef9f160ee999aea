import postgres from "postgres";
import type { RolePasswords } from "./data-folder.ts";

export const databaseName = "svc";
export const ownerRole = "svc_owner";
export const appRole = "svc_app";

/**
 * The two login roles and their database; repeatable. The owner runs the migrations, which grant the app role
 * what the service may do: the service itself can never change or drop a table.
 */
export async function ensureRoles(superuserUrl: string, passwords: RolePasswords): Promise<void> {
  const sql = postgres(superuserUrl, { max: 1, onnotice: () => {} });
  try {
    for (const [role, password] of [
      [ownerRole, passwords.owner],
      [appRole, passwords.app],
    ] as const) {
      const [present] = await sql`select 1 from pg_roles where rolname = ${role}`;
      if (!present) await sql`create role ${sql(role)} login`;
      // No statement parameter is allowed here; the password is our own hexadecimal text.
      await sql.unsafe(`alter role ${role} password '${password}'`);
    }
    // An acknowledged decision is on disk, whatever the session or the server defaults to.
    await sql`alter role ${sql(appRole)} set synchronous_commit = on`;
    const [present] = await sql`select 1 from pg_database where datname = ${databaseName}`;
    if (!present) await sql`create database ${sql(databaseName)} owner ${sql(ownerRole)}`;
  } finally {
    await sql.end();
  }
}
