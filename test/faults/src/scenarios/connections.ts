import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { appRole } from "../postgres/server.ts";
import type { Scenario } from "../stand.ts";

const busy = `from pg_stat_activity where usename = '${appRole}' and pid <> pg_backend_pid()`;

/** Also within transactions, whose rollback then finds no connection. */
export const terminatedConnections: Scenario = {
  name: "every connection to PostgreSQL terminated, at random moments",
  async inject({ world, load, random }) {
    for (let times = 0; times < 10; times += 1) {
      await delay(random.below(150));
      await world.database.execute(`select pg_terminate_backend(pid) ${busy}`);
      await load.passes(3);
    }
    return 10;
  },
};

export const connectionFaults: readonly Scenario[] = [
  {
    name: "backends terminated while they spend",
    async inject({ world, load }) {
      const admin = postgres(world.database.superuserUrl(), { max: 2, onnotice: () => {} });
      let terminated = 0;
      try {
        for (let times = 0; times < 5; times += 1) {
          await load.passes(5);
          // Whoever spends waits here, its statement begun and nothing committed.
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
    name: "answers to spends lost after their commit",
    async inject({ world, load }) {
      for (let times = 0; times < 3; times += 1) {
        world.databaseNetwork.spoil("insert into spend", { kind: "reset", afterBytes: 0 });
        // A statement's text is sent once a connection.
        world.databaseNetwork.sever();
        await load.fails(3);
        world.databaseNetwork.heal();
        world.databaseNetwork.sever();
        await load.passes(5);
      }
      return 3;
    },
  },
  {
    name: "PostgreSQL two seconds slow",
    async inject({ world, load }) {
      world.databaseNetwork.spoil("", { kind: "delayed", ms: 2_000 });
      await load.fails(8);
      world.databaseNetwork.heal();
      world.databaseNetwork.sever();
      return 1;
    },
  },
  {
    name: "no connection to PostgreSQL left",
    async inject({ world, load }) {
      await world.database.execute(`alter role ${appRole} connection limit 0`);
      await world.database.execute(`select pg_terminate_backend(pid) ${busy}`);
      await load.fails(8);
      await world.database.execute(`alter role ${appRole} connection limit -1`);
      return 1;
    },
  },
];

async function waiting(admin: postgres.Sql): Promise<readonly number[]> {
  const rows = await admin.unsafe<{ pid: number }[]>(`select pid ${busy} and wait_event_type = 'Lock'`);
  return rows.map(({ pid }) => pid);
}
