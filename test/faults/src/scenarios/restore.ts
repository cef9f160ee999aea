import { createApi } from "@svc/test-conformance/api";
import { type OwnRedis, testBearers, waitUntil } from "@svc/test-support";
import { archivedFolder, restoreToMoment, takeBackup } from "../postgres/backup.ts";
import { type OwnPostgres, startOn, startOwnPostgres } from "../postgres/server.ts";
import { type Scenario, type Stand, urlOf } from "../stand.ts";
import { startUsualWorld, type World } from "../world.ts";

/** Everything since is forgotten: no service could keep it. */
const mayLose = [
  ...(["call_without_record", "call_without_spend", "chain_incomplete"] as const),
  ...(["privileged_without_transaction", "observed_without_record"] as const),
];

/** Calls go on and are refused, by every process, until the operator acknowledges. */
export const restoredBackup: Scenario<OwnRedis> = {
  name: "PostgreSQL restored from a backup, and nothing granted until the issuer's epoch was raised",
  mayLose,
  async inject(stand) {
    const { world, load } = stand;
    const backup = await takeBackup(world.database);
    const kept = await countedIn(world.database);
    await load.passes(40);
    await seenPast(world, kept);
    await world.database.kill();
    serveFrom(world, await startOn(backup));
    await acknowledge(stand);
    return 1;
  },
};

export const startWorldWithArchive = (): ReturnType<typeof startUsualWorld> =>
  startUsualWorld({ startDatabase: async () => startOwnPostgres({ settings: await archivedFolder() }) });

/** The log is replayed up to a moment: what was committed before it is there, what came after it is not. */
export const restoredToMoment: Scenario<OwnRedis> = {
  name: "PostgreSQL restored to a point in time, and nothing granted until the issuer's epoch was raised",
  mayLose,
  async inject(stand) {
    const { world, load } = stand;
    const backup = await takeBackup(world.database);
    await load.passes(20);
    const kept = await countedIn(world.database);
    const [row] = await world.database.execute("select clock_timestamp()::text as moment");
    await load.passes(20);
    await seenPast(world, kept);
    const restored = await restoreToMoment(world.database, backup, String(row?.moment));
    const found = await countedIn(restored);
    if (found < kept) throw new Error(`${found} of ${kept} is left: what was committed before the moment is missing`);
    serveFrom(world, restored);
    await acknowledge(stand);
    return 1;
  },
};

/** With a cache store that is lost as well nothing remembers, and nobody can notice: the operator knows. */
export const restoredBackupAndEmptyStore: Scenario<OwnRedis> = {
  name: "PostgreSQL restored from a backup, Redis empty, and the issuer's epoch raised",
  mayLose,
  async inject({ world, load }) {
    const backup = await takeBackup(world.database);
    await load.passes(40);
    // Nobody is served until the epoch stands: the enforcement points cannot reach a control plane.
    const ports = world.controlPlanes.map(({ port }) => port);
    world.controlPlaneAddress.aim([]);
    world.controlPlaneAddress.sever();
    await world.database.kill();
    await world.store.command("FLUSHALL");
    serveFrom(world, await startOn(backup));
    await raiseEpoch(ports[0] ?? 0);
    world.controlPlaneAddress.aim(ports);
    return 1;
  },
};

/** The address moves to the restored server. */
function serveFrom(world: Pick<World, "databaseAddress" | "alsoStop">, restored: OwnPostgres): void {
  world.alsoStop(restored.remove);
  world.databaseAddress.aim([restored.port]);
  world.databaseAddress.sever();
}

export const countedIn = async (server: OwnPostgres): Promise<number> =>
  Number((await server.execute("select count from witness"))[0]?.count);

/** The cache store was told of more than a server knows that has come so far. */
export async function seenPast({ store }: Pick<World<OwnRedis>, "store">, count: number): Promise<void> {
  const [key = ""] = String(await store.command("KEYS", "svc:witness:*")).split(",");
  await waitUntil("the cache store to have seen more", async () => Number(await store.command("GET", key)) > count);
}

/** Every process refuses by itself, and goes on by itself once the epoch was raised at one of them. */
export async function acknowledge({ world, load }: Pick<Stand, "world" | "load">): Promise<void> {
  const ports = world.controlPlanes.map(({ port }) => port);
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
