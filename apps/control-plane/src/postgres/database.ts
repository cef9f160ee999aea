import postgres from "postgres";
import { within } from "../ports/deadline.ts";

export type Sql = postgres.Sql<{ bigint: bigint }>;
export type Transaction = postgres.TransactionSql<{ bigint: bigint }>;

/** The database did not answer in time, or could not take the statement. The caller knows nothing of its effect. */
export class DatabaseUnavailable extends Error {
  readonly code = "database_unavailable";
}

export interface PoolSettings {
  readonly url: string;
  readonly maxConnections: number;
  /** The server gives up on a statement after this long. */
  readonly statementTimeoutMs: number;
  /** For what a connection itself holds, such as a lock: it is never replaced while it works. */
  readonly isHeld?: boolean;
  /**
   * Plans each statement for the values it is sent with, for reads that differ much by them. Else PostgreSQL may settle, the
   * sixth time on a connection, for one plan for all values, by which a page with a rare filter reads the whole log.
   */
  readonly plansAfresh?: boolean;
}

/**
 * A pool whose every commit is durable when it is acknowledged, whatever the server's default. Connections are made
 * again by themselves; nothing is queued for longer than the caller's deadline (see `bounded`).
 */
export const connect = ({
  url,
  maxConnections,
  statementTimeoutMs,
  isHeld = false,
  plansAfresh = false,
}: PoolSettings): Sql =>
  postgres(url, {
    max: maxConnections,
    connect_timeout: 2,
    ...(isHeld && { max_lifetime: null }),
    // Retry soon: a database that is back must be noticed at once.
    backoff: () => 0.1,
    onnotice: () => {},
    types: { bigint: postgres.BigInt },
    connection: {
      application_name: "svc-control-plane",
      synchronous_commit: "on",
      statement_timeout: statementTimeoutMs,
      lock_timeout: 300,
      idle_in_transaction_session_timeout: 5_000,
      ...(plansAfresh && { plan_cache_mode: "force_custom_plan" }),
    },
  });

/**
 * Answers within the deadline or throws DatabaseUnavailable: the driver itself can wait for ever when no server
 * answers. A statement that finishes later is not undone, so a caller must treat it as unknown.
 */
export async function bounded<T>(deadlineMs: number, work: PromiseLike<T>): Promise<T> {
  try {
    return await within(deadlineMs, work, () => new DatabaseUnavailable(`no answer within ${deadlineMs} ms`));
  } catch (error) {
    throw isUnavailable(error) ? new DatabaseUnavailable("the database cannot serve", { cause: error }) : error;
  }
}

/**
 * Connection faults of driver and network, the server's classes for "not now" (08, 53, 57, 58, read-only, timeouts), and
 * those with which it turns connections away: no such account or password (28), no such database (3D), or one that takes
 * no connections (55000).
 */
const unavailableCodes =
  /^(?:08|28|3D|53|57|58)|^(?:25006|55000|55P03|40001|40P01|XX000)$|^E[A-Z]+$|^CONNECT|^(?:NOT_TAGGED_CALL|UNSAFE_TRANSACTION)$/;

const isUnavailable = (error: unknown): boolean => unavailableCodes.test(codeOf(error));

/**
 * Whether the server itself refused the statement, so that none of it was committed: bad data, a violated constraint, or
 * the victim of a deadlock. A lost connection or a timeout says nothing of that.
 */
export const committedNothing = (error: unknown): boolean => /^(?:22|23)...$|^(?:40001|40P01)$/.test(codeOf(error));

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "");
