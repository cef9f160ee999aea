import { type TestDatabase, waitUntil } from "@svc/test-support";
import postgres from "postgres";

/** A copy of the first database, which must have no connections. */
export async function backUp(database: TestDatabase): Promise<TestDatabase> {
  const name = `${nameOf(database.ownerUrl)}_backup`;
  const sql = postgres(at(database.superuserUrl, "postgres"), { max: 1, onnotice: () => {} });
  const { username: owner } = new URL(database.ownerUrl);
  // Connections of processes that just ended close a moment later.
  await waitUntil("the database to have no connections", async () => {
    await sql`create database ${sql(name)} template ${sql(nameOf(database.ownerUrl))} owner ${sql(owner)}`;
    return true;
  });
  return {
    ownerUrl: at(database.ownerUrl, name),
    appUrl: at(database.appUrl, name),
    superuserUrl: at(database.superuserUrl, name),
    async drop() {
      await sql`drop database if exists ${sql(name)} with (force)`;
      await sql.end();
    },
  };
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1);
const at = (url: string, name: string): string => Object.assign(new URL(url), { pathname: `/${name}` }).href;
