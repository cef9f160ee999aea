import { createApi } from "@svc/test-conformance/api";
import { type OwnRedis, testBearers } from "@svc/test-support";
import { emptyFolder, runAsServer, startOn } from "../postgres/server.ts";
import { type Scenario, urlOf } from "../stand.ts";

/**
 * Everything since the backup is forgotten, and with a cache store that is lost as well nothing remembers a spend. So the
 * operator raises the issuer's epoch before traffic returns: whatever was issued before is worth nothing.
 */
export const restoredBackup: Scenario<OwnRedis> = {
  name: "PostgreSQL restored from a backup, Redis empty, and the issuer's epoch raised",
  mayLose: [
    ...(["call_without_record", "call_without_spend", "chain_incomplete"] as const),
    ...(["privileged_without_transaction", "observed_without_record"] as const),
  ],
  async inject({ world, load }) {
    const backup = await emptyFolder();
    await runAsServer("pg_basebackup", [
      `--pgdata=${backup}`,
      `--dbname=postgres://postgres@127.0.0.1:${world.database.port}/`,
      ...["--wal-method=stream", "--checkpoint=fast", "--no-sync"],
    ]);
    await load.passes(40);
    // Nobody is served until the epoch stands: the enforcement points cannot reach a control plane.
    const ports = world.controlPlanes.map(({ port }) => port);
    world.controlPlaneAddress.aim([]);
    world.controlPlaneAddress.sever();
    await world.database.kill();
    await world.store.command("FLUSHALL");
    const restored = await startOn(backup);
    world.alsoStop(restored.remove);
    world.databaseAddress.aim([restored.port]);
    world.databaseAddress.sever();
    await raiseEpoch(ports[0] ?? 0);
    world.controlPlaneAddress.aim(ports);
    return 1;
  },
};

async function raiseEpoch(port: number): Promise<void> {
  const api = createApi(urlOf(port), testBearers);
  for (let tries = 1; ; tries += 1) {
    const { status, text } = await api.call("POST", "/v1/issuer-epoch", {
      bearer: testBearers.admin,
      body: { reason: "restored from a backup" },
    });
    if (status === 200) return;
    // The connections to the old server break one by one.
    if (status !== 503 || tries === 50) throw new Error(`the epoch was not raised: ${status} ${text}`);
  }
}
