import { waitUntil } from "@svc/test-support";
import { emptyFolder, type OwnPostgres, runAsServer, startOn } from "./server.ts";

export interface Standby extends OwnPostgres {
  /** Makes it the primary, with its present data. */
  promote(): Promise<void>;
  /** Ends its replication; it keeps its present data. */
  detach(): Promise<void>;
}

const name = "follower";

/** A streaming standby of a running primary; synchronous: nothing is acknowledged before it has it on disk. */
export async function startStandby(primary: OwnPostgres, kind: "synchronous" | "asynchronous"): Promise<Standby> {
  const folder = await emptyFolder();
  await runAsServer("pg_basebackup", [
    `--pgdata=${folder}`,
    `--dbname=postgres://postgres@127.0.0.1:${primary.port}/?application_name=${name}`,
    ...["--wal-method=stream", "--checkpoint=fast", "--write-recovery-conf", "--no-sync"],
  ]);
  const standby = await startOn(folder);
  await waitUntil("the standby to stream", async () => (await senders(primary)).includes("streaming"));
  if (kind === "synchronous") {
    await primary.execute(`alter system set synchronous_standby_names = '${name}'`);
    await primary.execute("select pg_reload_conf()");
    await waitUntil("the standby to be synchronous", async () => (await senders(primary)).includes("sync"));
  }
  return {
    ...standby,
    async promote() {
      await standby.execute("select pg_promote(true, 30)");
      await waitUntil("the standby to take writes", async () => {
        const [row] = await standby.execute("select pg_is_in_recovery() as waits");
        return row?.waits === false;
      });
    },
    async detach() {
      await standby.execute("alter system set primary_conninfo = ''");
      await standby.execute("select pg_reload_conf()");
      await waitUntil("the standby to be disconnected", async () => (await senders(primary)) === "");
    },
  };
}

/** State and kind of a server's replication connections. */
async function senders(primary: OwnPostgres): Promise<string> {
  const rows = await primary.execute("select state, sync_state from pg_stat_replication where state = 'streaming'");
  return rows.map(({ state, sync_state }) => `${state} ${sync_state}`).join();
}
