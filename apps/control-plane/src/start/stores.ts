import type { RateLimits } from "../ports/rate-limit.ts";
import type { ReplayGuard } from "../ports/replay-guard.ts";
import type { WitnessMemory } from "../ports/witness.ts";
import type { AuditStandby } from "../postgres/audit-reads.ts";
import { poolSizesOf, requireRoom } from "../postgres/connections.ts";
import { connect, type Sql } from "../postgres/database.ts";
import { migrate, requireMigrated } from "../postgres/migrate.ts";
import { watchStandby } from "../postgres/standby-watch.ts";
import { claimDatabase, type DatabaseTaken } from "../postgres/tenancy.ts";
import { warmUp } from "../postgres/warm-up.ts";
import { parseStoreAddress } from "../redis/address.ts";
import { redisGuard } from "../redis/guard.ts";
import type { Config } from "./config.ts";
import { openRateLimits } from "./rate-limits.ts";

/** Time budgets of the stores, in milliseconds: each lies within the callers' second for a step. */
export const budgets = {
  statement: 800,
  commit: 900,
  read: 900,
  submit: 20_000,
  auditRead: 4_000,
  endBatch: 5_000,
  probe: 900,
} as const;

export interface Stores {
  /** Commits, apart from readers, so that no audit query stands before them. */
  readonly writer: Sql;
  readonly reader: Sql;
  readonly audit: Sql;
  /** Where audit reads go first; undefined where the settings name none. */
  readonly standby: AuditStandby | undefined;
  /** Manifest submissions wait for each other while they hold a connection; hops must not wait behind them. */
  readonly submissions: Sql;
  /** One connection that nothing else waits for. */
  readonly health: Sql;
  readonly guard: ReplayGuard & WitnessMemory;
  readonly rateLimits: RateLimits;
  close(): Promise<void>;
}

export interface StoreEvents {
  readonly onGuardUnavailable: (cause: unknown) => void;
  /** Another process took the database that this one's in-process guard needs for itself. */
  readonly onTaken: (fault: DatabaseTaken) => void;
  readonly onProgress: (step: string) => void;
  /** The database of the audit reads stopped answering: the primary serves them. */
  readonly onStandbySilent: (cause: unknown) => void;
}

interface Addresses {
  readonly ownerUrl: string;
  readonly appUrl: string;
  stop(): Promise<void>;
}

/** The configured database, or an embedded one; nothing is opened twice. */
export async function openDatabase(config: Config, onProgress: StoreEvents["onProgress"]): Promise<Addresses> {
  if (config.databaseUrl === undefined) {
    onProgress("starting the embedded database");
    const { startEmbeddedPostgres } = await import("@svc/embedded/database");
    return startEmbeddedPostgres({ dataDir: config.dataDir });
  }
  const appUrl = config.databaseUrl;
  return { ownerUrl: config.migrationDatabaseUrl ?? appUrl, appUrl, stop: async () => {} };
}

export async function openStores(config: Config, events: StoreEvents): Promise<Stores> {
  const database = await openDatabase(config, events.onProgress);
  try {
    await (config.migrate === "start" ? migrate(database) : requireMigrated(database));
    const isShared = config.redisUrl !== undefined;
    const { databaseConnections: connections } = config;
    await requireRoom(database.appUrl, { processes: config.workers, connections });
    const claim = await claimDatabase(database.appUrl, isShared ? "shared" : "sole", events.onTaken);
    const pool = (maxConnections: number, statementTimeoutMs: number): Sql =>
      connect({ url: database.appUrl, maxConnections, statementTimeoutMs });
    const sizes = poolSizesOf(connections);
    const pools = {
      writer: pool(sizes.writer, budgets.statement),
      reader: pool(sizes.reader, budgets.statement),
      audit: auditPool(database.appUrl, sizes.audit),
      submissions: pool(sizes.submissions, budgets.submit),
      health: pool(sizes.health, budgets.probe),
    };
    await warmUp(pools);
    const standby = openStandby(config, { primary: pools.health, connections: sizes.audit }, events);
    const guard = await openGuard(config, events);
    const rateLimits = await openRateLimits(config, events.onGuardUnavailable);
    return {
      ...pools,
      standby,
      guard,
      rateLimits,
      async close() {
        rateLimits.close();
        await Promise.all([
          guard.close(),
          claim.close(),
          standby?.close(),
          ...Object.values(pools).map((sql) => sql.end({ timeout: 2 })),
        ]);
        await database.stop();
      },
    };
  } catch (error) {
    await database.stop();
    throw error;
  }
}

/** Reads that filter by what they are given: a plan for all values would read the whole log for a value that is rare. */
export const auditPool = (url: string, maxConnections: number): Sql =>
  connect({ url, maxConnections, statementTimeoutMs: budgets.auditRead, plansAfresh: true });

const watchEveryMs = 500;

/** Opened when it is first asked: a standby that is down stops no start. */
function openStandby(
  { auditDatabaseUrl: url }: Config,
  { primary, connections }: { readonly primary: Sql; readonly connections: number },
  { onStandbySilent: onSilent }: StoreEvents,
): (AuditStandby & { close(): Promise<void> }) | undefined {
  if (url === undefined) return undefined;
  const sql = auditPool(url, connections);
  const watching = connect({ url, maxConnections: 1, statementTimeoutMs: budgets.probe });
  const watch = watchStandby({
    primary,
    standby: watching,
    everyMs: watchEveryMs,
    deadlineMs: budgets.probe,
    onSilent,
  });
  return {
    sql,
    watch,
    async close() {
      watch.close();
      await Promise.all([sql, watching].map((each) => each.end({ timeout: 2 })));
    },
  };
}

async function openGuard(
  { redisUrl }: Config,
  { onGuardUnavailable }: StoreEvents,
): Promise<ReplayGuard & WitnessMemory> {
  if (redisUrl !== undefined) {
    return redisGuard({ address: parseStoreAddress(redisUrl), onUnavailable: onGuardUnavailable });
  }
  const { embeddedGuard } = await import("@svc/embedded/cache");
  return embeddedGuard();
}
