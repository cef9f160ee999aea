import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { appRole } from "../postgres/server.ts";
import type { Scenario } from "../stand.ts";

const busy = `from pg_stat_activity where usename = '${appRole}' and pid <> pg_backend_pid()`;

/** Also within transactions, whose rollback then fails. */
export const terminatedConnections: Scenario = {
  name: "every connection to PostgreSQL terminated, at random moments",
  async inject({ deployment, load, random }) {
    for (let times = 0; times < 10; times += 1) {
      await delay(random.below(150));
      await deployment.database.execute(`select pg_terminate_backend(pid) ${busy}`);
      await load.passes(3);
    }
    return 10;
  },
};

export const connectionFaults: readonly Scenario[] = [
  {
    name: "backends terminated while they spend",
    async inject({ deployment, load }) {
      const admin = postgres(deployment.database.superuserUrl(), { max: 2, onnotice: () => {} });
      let terminated = 0;
      try {
        for (let times = 0; times < 5; times += 1) {
          await load.passes(5);
          // A spend waits here, with its statement begun and not committed.
          await admin.begin(async (sql) => {
            await sql.unsafe("lock table spend in share mode");
            for (let tries = 0; tries < 50 && (await waiting(admin)).length === 0; tries += 1) await delay(5);
            for (const pid of await waiting(admin)) {
              await admin.unsafe(`select pg_terminate_backend(${pid})`);
              terminated += 1;
            }
          });
        }
      } finally {
        await admin.end();
      }
      return terminated;
    },
  },
  terminatedConnections,
  {
    name: "responses to spends lost after their commit",
    async inject({ deployment, load }) {
      for (let times = 0; times < 3; times += 1) {
        deployment.databaseNetwork.spoil("insert into spend", { kind: "reset", afterBytes: 0 });
        // A statement's text is sent once per connection.
        deployment.databaseNetwork.sever();
        await load.fails(3);
        deployment.databaseNetwork.heal();
        deployment.databaseNetwork.sever();
        await load.passes(5);
      }
      return 3;
    },
  },
  {
    name: "PostgreSQL two seconds slow",
    async inject({ deployment, load }) {
      deployment.databaseNetwork.spoil("", { kind: "delayed", ms: 2_000 });
      await load.fails(8);
      deployment.databaseNetwork.heal();
      deployment.databaseNetwork.sever();
      return 1;
    },
  },
  {
    name: "no connection to PostgreSQL left",
    async inject({ deployment, load }) {
      await deployment.database.execute(`alter role ${appRole} connection limit 0`);
      await deployment.database.execute(`select pg_terminate_backend(pid) ${busy}`);
      await load.fails(8);
      await deployment.database.execute(`alter role ${appRole} connection limit -1`);
      return 1;
    },
  },
];

async function waiting(admin: postgres.Sql): Promise<readonly number[]> {
  const rows = await admin.unsafe<{ pid: number }[]>(`select pid ${busy} and wait_event_type = 'Lock'`);
  return rows.map(({ pid }) => pid);
}
