import { watchStandby } from "../background/watch-standby.ts";
import { budgets } from "../budgets.ts";
import type { RateBudget, RateLimit, RateLimits } from "../ports/rate-limit.ts";
import type { ReplayGuard } from "../ports/replay-guard.ts";
import type { StandbyWatch } from "../ports/replication.ts";
import type { HighWaterMarkStore } from "../ports/restore-watch.ts";
import { poolSizesOf, requireRoom } from "../postgres/connections.ts";
import { connect, type Pool, poolOf, type Sql } from "../postgres/database.ts";
import { claimDatabase, type DatabaseTaken } from "../postgres/exclusive-use.ts";
import { type MigrationSettings, migrate, requireMigrated } from "../postgres/migrate.ts";
import { replication } from "../postgres/replication.ts";
import { type ConnectionFault, requireOwnServerProcess } from "../postgres/server-process.ts";
import { warmUp } from "../postgres/warm-up.ts";
import { parseStoreAddress } from "../redis/address.ts";
import { redisGuard } from "../redis/guard.ts";
import type { Config } from "./config.ts";

export interface Stores extends ReturnType<typeof openPools> {
  /** Serves audit reads first, if the settings name one. */
  readonly standby: { readonly pool: Pool; readonly watch: StandbyWatch } | undefined;
  readonly guard: ReplayGuard & HighWaterMarkStore;
  readonly rateLimits: RateLimits;
  close(): Promise<void>;
}

export interface StoreEvents {
  readonly onGuardUnavailable: (cause: unknown) => void;
  /** Another process acquired the database that this one's in-process guard needs alone. */
  readonly onDatabaseLost: (fault: DatabaseTaken) => void;
  readonly onProgress: (step: string) => void;
  /** The standby stopped answering, so the primary serves the audit reads. */
  readonly onStandbySilent: (cause: unknown) => void;
}

/**
 * The configured database, or an embedded one.
 * @throws one line that names the setting of a database that cannot serve
 */
export async function openDatabase(config: Config, onProgress: StoreEvents["onProgress"]) {
  if (config.databaseUrl === undefined) {
    onProgress("starting the embedded database");
    const { startEmbeddedPostgres } = await import("@svc/embedded/database");
    return startEmbeddedPostgres({ dataDir: config.dataDir });
  }
  const appUrl = config.databaseUrl;
  await requireOwnServerProcess("DATABASE_URL", appUrl);
  return { ownerUrl: config.migrationDatabaseUrl ?? appUrl, appUrl, stop: async () => {} };
}

/** @throws as `openDatabase`, of the schema owner's connection. */
export async function migrateDatabase(
  { migrationDatabaseUrl: url }: Config,
  database: MigrationSettings,
): Promise<void> {
  if (url !== undefined) await requireOwnServerProcess("SVC_MIGRATION_DATABASE_URL", url);
  await migrate(database);
}

export async function openStores(config: Config, events: StoreEvents): Promise<Stores> {
  const database = await openDatabase(config, events.onProgress);
  try {
    await (config.migrate === "start" ? migrateDatabase(config, database) : requireMigrated(database));
    await requireStandby(config);
    const { databaseConnections: connections, workers: processes } = config;
    await requireRoom(database.appUrl, { processes, connections });
    const use = config.redisUrl === undefined ? "exclusive" : "shared";
    const claim = await claimDatabase(database.appUrl, use, events.onDatabaseLost);
    const sizes = poolSizesOf(connections);
    const pools = openPools(database.appUrl, sizes);
    await warmUp(pools);
    const standby = openStandby(config, { primary: pools.health, connections: sizes.audit }, events);
    const guard = await guardOf(config, events);
    const rateLimits = await openRateLimits(config, events.onGuardUnavailable);
    return {
      ...pools,
      standby,
      guard,
      rateLimits,
      async close() {
        rateLimits.close();
        await Promise.all([guard.close(), claim.close(), standby?.close(), ...Object.values(pools).map(closePool)]);
        await database.stop();
      },
    };
  } catch (error) {
    await database.stop();
    throw error;
  }
}

/** One pool per use, so that audit queries, submissions and probes delay no commit. */
function openPools(url: string, sizes: ReturnType<typeof poolSizesOf>) {
  const pool = (maxConnections: number, statementTimeoutMs: number, deadlineMs: number): Pool =>
    poolOf(connect({ url, maxConnections, statementTimeoutMs }), deadlineMs);
  return {
    writer: pool(sizes.writer, budgets.statement, budgets.commit),
    reader: pool(sizes.reader, budgets.statement, budgets.read),
    audit: poolOf(connectForAudit(url, sizes.audit), budgets.auditRead),
    /** A submission holds its connection while it waits for another one. */
    submissions: pool(sizes.submissions, budgets.submit, budgets.submit),
    health: pool(sizes.health, budgets.probe, budgets.probe),
  };
}

const closePool = ({ sql }: Pool): Promise<void> => sql.end({ timeout: 2 });

/** Plans each statement for its values: with one plan for all, a rare filter would read the whole log. */
export const connectForAudit = (url: string, maxConnections: number): Sql =>
  connect({ url, maxConnections, statementTimeoutMs: budgets.auditRead, plansAfresh: true });

const watchEveryMs = 500;

/** A standby that is down stops no start. */
async function requireStandby({ auditDatabaseUrl: url }: Config): Promise<void> {
  if (url === undefined) return;
  await requireOwnServerProcess("AUDIT_DATABASE_URL", url).catch((fault: ConnectionFault) => {
    if (!fault.isUnreachable) throw fault;
  });
}

/** Connects with the first query. */
function openStandby(
  { auditDatabaseUrl: url }: Config,
  { primary, connections }: { readonly primary: Pool; readonly connections: number },
  { onStandbySilent: onSilent }: StoreEvents,
) {
  if (url === undefined) return undefined;
  const pool = poolOf(connectForAudit(url, connections), budgets.auditRead);
  // Of its own, so that no long read makes the standby look silent.
  const watched = poolOf(connect({ url, maxConnections: 1, statementTimeoutMs: budgets.probe }), budgets.probe);
  const watch = watchStandby(replication(primary, watched), watchEveryMs, onSilent);
  return {
    pool,
    watch,
    async close() {
      watch.close();
      await Promise.all([pool, watched].map(closePool));
    },
  };
}

/** A start waits so long for the cache store. Without it, this process grants nothing. */
const cacheStorePatienceMs = 1_000;

async function guardOf(
  { redisUrl }: Config,
  { onGuardUnavailable: onUnavailable, onProgress }: StoreEvents,
): Promise<ReplayGuard & HighWaterMarkStore> {
  if (redisUrl === undefined) {
    const { embeddedGuard } = await import("@svc/embedded/cache");
    return embeddedGuard();
  }
  const guard = redisGuard({ address: parseStoreAddress(redisUrl), onUnavailable });
  await guard.connected(cacheStorePatienceMs);
  await guard.ping().catch(({ message }: Error) => onProgress(`WARNING: not ready. ${message}`));
  return guard;
}

/** Counts in the cache store, or in this process without one. Loads and opens nothing without a limit. */
async function openRateLimits(
  { redisUrl, rateLimits }: Pick<Config, "redisUrl" | "rateLimits">,
  onUnavailable: (cause: unknown) => void,
): Promise<RateLimits & { close(): void }> {
  const { perBearer, perSession } = rateLimits;
  const limitsBy = (limit: (kind: string, budget: RateBudget) => RateLimit, close = () => {}) => ({
    perBearer: perBearer && limit("bearer", perBearer),
    perSession: perSession && limit("session", perSession),
    close,
  });
  if ((perBearer ?? perSession) === undefined) return { perBearer: undefined, perSession: undefined, close: () => {} };
  if (redisUrl === undefined) {
    const { embeddedRateLimit } = await import("../redis/local-rate-limit.ts");
    return limitsBy((_kind, budget) => embeddedRateLimit(budget));
  }
  const { redisRateLimits } = await import("../redis/rate-limit.ts");
  const { limit, close } = redisRateLimits({ address: parseStoreAddress(redisUrl), onUnavailable });
  return limitsBy(limit, close);
}
