import { within } from "@svc/host";
import postgres from "postgres";
import { budgets } from "../budgets.ts";

export type Sql = postgres.Sql<{ bigint: bigint; date: number }>;
export type Transaction = postgres.TransactionSql<{ bigint: bigint; date: number }>;
/** A part of a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** The database did not answer in time, or could not take the statement. Whether it took effect is unknown. */
export class DatabaseUnavailable extends Error {
  readonly code = "database_unavailable";
}

/** Connections, and the deadline of everything that is done on them. */
export interface Pool {
  readonly sql: Sql;
  readonly deadlineMs: number;
  run<T>(work: (sql: Sql) => PromiseLike<T>): Promise<T>;
  /** The rows of one statement, as a template. */
  rows<Row extends object>(text: TemplateStringsArray, ...values: Values): Promise<postgres.RowList<Row[]>>;
  /** In one transaction. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** The same connections with another deadline. */
  within(deadlineMs: number): Pool;
}

export type Pools<Name extends string> = { readonly [Each in Name]: Pool };

type Values = readonly postgres.ParameterOrFragment<bigint | number>[];

export const poolOf = (sql: Sql, deadlineMs: number): Pool => ({
  sql,
  deadlineMs,
  run: (work) => bounded(deadlineMs, work(sql)),
  rows: <Row extends object>(text: TemplateStringsArray, ...values: Values) =>
    bounded(deadlineMs, sql<Row[]>(text, ...values)),
  // The driver's type unwraps arrays of promises, which no result here is.
  transaction: <T>(work: (tx: Transaction) => Promise<T>) => bounded(deadlineMs, sql.begin(work) as Promise<T>),
  within: (otherMs) => poolOf(sql, otherMs),
});

interface ConnectionSettings {
  readonly url: string;
  readonly maxConnections: number;
  /** The server cancels a statement after this time. */
  readonly statementTimeoutMs: number;
  /** For a connection that holds a lock: it is never replaced while it works. */
  readonly isHeld?: boolean;
  /** Plans each statement for its values: with one plan for all, a page with a rare filter may read the whole log. */
  readonly plansAfresh?: boolean;
}

/** Reads times as epoch milliseconds. */
const epochMs = {
  to: 1184,
  from: [1082, 1114, 1184],
  serialize: (time: Date | number) => new Date(time).toISOString(),
  parse: (text: string) => Date.parse(text),
};

/** Every acknowledged commit is durable. Wait for statements through a Pool: the driver alone can wait without end. */
export const connect = ({
  url,
  maxConnections,
  statementTimeoutMs,
  isHeld = false,
  plansAfresh = false,
}: ConnectionSettings): Sql =>
  postgres(url, {
    max: maxConnections,
    connect_timeout: budgets.connect / 1_000,
    ...(isHeld && { max_lifetime: null }),
    // Retry soon: a database that is back must be noticed at once.
    backoff: () => 0.1,
    onnotice: () => {},
    types: { bigint: postgres.BigInt, date: epochMs },
    connection: {
      application_name: "svc-control-plane",
      synchronous_commit: "on",
      statement_timeout: statementTimeoutMs,
      lock_timeout: budgets.lock,
      idle_in_transaction_session_timeout: 5_000,
      ...(plansAfresh && { plan_cache_mode: "force_custom_plan" }),
    },
  });

/**
 * @throws {DatabaseUnavailable} at the deadline, and for every fault of server, driver or connection, whatever its code:
 *   a call needs the statement. One that finishes later is not undone: its effect is unknown.
 */
export async function bounded<T>(deadlineMs: number, work: PromiseLike<T>): Promise<T> {
  try {
    return await within(deadlineMs, work, () => new DatabaseUnavailable(`no answer within ${deadlineMs} ms`));
  } catch (error) {
    throw isOfDatabase(error) ? new DatabaseUnavailable("the database cannot serve", { cause: error }) : error;
  }
}

/** SQLSTATE, and the codes of the driver and of Node: in capitals and digits. Our own are in small letters. */
const isOfDatabase = (error: unknown): boolean => /^[0-9A-Z_]+$/.test(codeOf(error));

/** The server refused the statement: bad data, a violated constraint, or a deadlock. Other faults may follow a commit. */
export const committedNothing = (error: unknown): boolean => /^(?:22|23)...$|^(?:40001|40P01)$/.test(codeOf(error));

export const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "");

/** For the rest of the transaction: each statement, its wait for locks, and each pause between two may take so long. */
export async function waitingUpTo(tx: Transaction, ms: number): Promise<void> {
  await tx`
    select set_config(name, ${`${ms}`}, true)
    from unnest(array['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout']) name`;
}

/** Runs `work` on one connection of its own. */
export async function onConnection<T>(
  url: string,
  statementTimeoutMs: number,
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  const sql = connect({ url, maxConnections: 1, statementTimeoutMs });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Runs a task under an advisory lock until the end of the transaction; `taken` if any process holds the lock. */
export async function oneAtATime<T>(
  tx: Transaction,
  advisoryLock: number,
  task: (tx: Transaction) => Promise<T>,
): Promise<T | "taken"> {
  await tx`set local statement_timeout = '30s'`;
  const [row] = await tx<{ locked: boolean }[]>`select pg_try_advisory_xact_lock(${advisoryLock}) as locked`;
  return row?.locked ? task(tx) : "taken";
}
