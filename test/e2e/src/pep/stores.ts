import { asOwner } from "@svc/test-conformance/stack";
import type { Stand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";

/** Faults of the control plane's own database that spare others on the server. Each resolves with the repair. */

/** Ends every connection, and refuses new ones. */
export async function refuseConnections({ database, api }: Stand): Promise<() => Promise<void>> {
  const name = new URL(database.appUrl).pathname.slice(1);
  // From another database: a connection cannot close its own to new ones.
  const server = {
    ...database,
    ownerUrl: Object.assign(new URL(database.superuserUrl), { pathname: "/postgres" }).href,
  };
  await asOwner(server, async (sql) => {
    await sql`alter database ${sql(name)} with allow_connections false`;
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
  });
  return async () => {
    await asOwner(server, (sql) => sql`alter database ${sql(name)} with allow_connections true`);
    await waitUntil("it to be ready again", async () => (await api.call("GET", "/readyz")).status === 200);
  };
}

/** Locks the mint table: decisions and exchanges continue, mints wait. */
export async function withholdMints({ database }: Stand): Promise<() => Promise<void>> {
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const held = asOwner(database, (sql) =>
    sql.begin(async (transaction) => {
      await transaction`lock table mint in access exclusive mode`;
      locked.resolve();
      await released.promise;
    }),
  );
  await Promise.race([locked.promise, held]);
  return async () => {
    released.resolve();
    await held;
  };
}
