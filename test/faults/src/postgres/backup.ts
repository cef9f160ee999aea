import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "@svc/test-support";
import { emptyFolder, giveToServer, type OwnPostgres, runAsServer, startOn } from "./server.ts";

/** A copy of a running server's data, from which another can be started. */
export async function takeBackup(server: OwnPostgres): Promise<string> {
  const folder = await emptyFolder();
  await runAsServer("pg_basebackup", [
    `--pgdata=${folder}`,
    `--dbname=postgres://postgres@127.0.0.1:${server.port}/`,
    ...["--wal-method=stream", "--checkpoint=fast", "--no-sync"],
  ]);
  return folder;
}

/** Settings of a server that archives its log into a folder of its own. */
export async function archivedFolder(): Promise<readonly string[]> {
  const archive = await emptyFolder();
  return [
    "archive_mode = on",
    `archive_command = 'test ! -f ${archive}/%f && cp %p ${archive}/%f'`,
    `restore_command = 'cp ${archive}/%f %p'`,
  ];
}

/**
 * Stops an archiving server, and starts another on a backup of it, with the log replayed up to a moment.
 * @param moment in PostgreSQL's format
 */
export async function restoreToMoment(server: OwnPostgres, backup: string, moment: string): Promise<OwnPostgres> {
  const [row] = await server.execute("select pg_walfile_name(pg_switch_wal()) as segment");
  await waitUntil("the log to be archived", async () => {
    const [stats] = await server.execute("select last_archived_wal from pg_stat_archiver");
    return String(stats?.last_archived_wal) >= String(row?.segment);
  });
  await server.kill();
  writeFileSync(join(backup, "recovery.signal"), "");
  await giveToServer(join(backup, "recovery.signal"));
  const target = [`recovery_target_time = '${moment}'`, "recovery_target_action = 'promote'"];
  const restored = await startOn(backup, target);
  await waitUntil("the log to be replayed", async () => {
    const [state] = await restored.execute("select pg_is_in_recovery() as waits");
    return state?.waits === false;
  });
  return restored;
}
