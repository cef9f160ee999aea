import { createApi } from "@svc/test-conformance/api";
import { type OwnRedis, testBearers, waitUntil } from "@svc/test-support";
import { type Deployment, startUsualDeployment } from "../deployment.ts";
import { archivedFolder, restoreToMoment, takeBackup } from "../postgres/backup.ts";
import { type OwnPostgres, startOn, startOwnPostgres } from "../postgres/server.ts";
import { type Scenario, type Stand, urlOf } from "../stand.ts";

/** Everything after the backup is lost: no service could keep it. */
const mayLose = [
  ...(["call_without_record", "call_without_spend", "chain_incomplete"] as const),
  ...(["privileged_without_transaction", "observed_without_record"] as const),
];

/** Calls continue and are refused, by every process, until the operator acknowledges. */
export const restoredBackup: Scenario<OwnRedis> = {
  name: "PostgreSQL restored from a backup, and nothing granted until the issuer's epoch was raised",
  mayLose,
  async inject(stand) {
    const { deployment, load } = stand;
    const backup = await takeBackup(deployment.database);
    const kept = await countedIn(deployment.database);
    await load.passes(40);
    await seenPast(deployment, kept);
    await deployment.database.kill();
    serveFrom(deployment, await startOn(backup));
    await acknowledge(stand);
    return 1;
  },
};

export const startDeploymentWithArchive = (): ReturnType<typeof startUsualDeployment> =>
  startUsualDeployment({ startDatabase: async () => startOwnPostgres({ settings: await archivedFolder() }) });

/** The log is replayed up to a moment: commits before it are there, later ones are not. */
export const restoredToMoment: Scenario<OwnRedis> = {
  name: "PostgreSQL restored to a point in time, and nothing granted until the issuer's epoch was raised",
  mayLose,
  async inject(stand) {
    const { deployment, load } = stand;
    const backup = await takeBackup(deployment.database);
    await load.passes(20);
    const kept = await countedIn(deployment.database);
    const [row] = await deployment.database.execute("select clock_timestamp()::text as moment");
    await load.passes(20);
    await seenPast(deployment, kept);
    const restored = await restoreToMoment(deployment.database, backup, String(row?.moment));
    const found = await countedIn(restored);
    if (found < kept) throw new Error(`${found} of ${kept} records are left: commits before the moment are missing`);
    serveFrom(deployment, restored);
    await acknowledge(stand);
    return 1;
  },
};

/** Where the cache store is lost too, no process can notice: the operator must know. */
export const restoredBackupAndEmptyStore: Scenario<OwnRedis> = {
  name: "PostgreSQL restored from a backup, Redis empty, and the issuer's epoch raised",
  mayLose,
  async inject({ deployment, load }) {
    const backup = await takeBackup(deployment.database);
    await load.passes(40);
    // No call is served until the epoch is raised: the enforcement points cannot reach a control plane.
    const ports = deployment.controlPlanes.map(({ port }) => port);
    deployment.controlPlaneAddress.aim([]);
    deployment.controlPlaneAddress.sever();
    await deployment.database.kill();
    await deployment.store.command("FLUSHALL");
    serveFrom(deployment, await startOn(backup));
    await raiseEpoch(ports[0] ?? 0);
    deployment.controlPlaneAddress.aim(ports);
    return 1;
  },
};

/** The address moves to the restored server. */
function serveFrom(deployment: Pick<Deployment, "databaseAddress" | "alsoStop">, restored: OwnPostgres): void {
  deployment.alsoStop(restored.remove);
  deployment.databaseAddress.aim([restored.port]);
  deployment.databaseAddress.sever();
}

export const countedIn = async (server: OwnPostgres): Promise<number> =>
  Number((await server.execute("select count from witness"))[0]?.count);

/** The cache store has a higher count than a server that was restored to this moment. */
export async function seenPast({ store }: Pick<Deployment<OwnRedis>, "store">, count: number): Promise<void> {
  const [key = ""] = String(await store.command("KEYS", "svc:witness:*")).split(",");
  await waitUntil(
    "the cache store to have a higher count",
    async () => Number(await store.command("GET", key)) > count,
  );
}

/** Every process refuses without a restart, and continues once the epoch is raised at one of them. */
export async function acknowledge({ deployment, load }: Pick<Stand, "deployment" | "load">): Promise<void> {
  const ports = deployment.controlPlanes.map(({ port }) => port);
  for (const port of ports) {
    await waitUntil("a process to notice", async () => (await unreadyFor(port)).join() === "restore");
  }
  await load.fails(4);
  await raiseEpoch(ports[0] ?? 0);
}

async function unreadyFor(port: number): Promise<readonly string[]> {
  const { body } = await createApi(urlOf(port), testBearers).call("GET", "/readyz");
  return body.details?.failing ?? [];
}

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
