import { asOwner } from "@svc/test-conformance/stack";
import type { Stand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";

/** Ways in which the control plane's own database fails it, and nobody else on that server. Each resolves with what mends it. */

/** Every connection to it is ended, and no new one is taken. */
export async function refuseConnections({ database, api }: Stand): Promise<() => Promise<void>> {
  const name = new URL(database.appUrl).pathname.slice(1);
  // From another database: none can be closed to the connection that asks for it.
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

/** Somebody holds the table of mints: what decides and exchanges does not notice, what mints waits in vain. */
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
