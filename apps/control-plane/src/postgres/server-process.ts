import postgres from "postgres";
import { bounded, codeOf, connect, DatabaseUnavailable } from "./database.ts";

/** Where others use the shared processes too, one round may by chance meet the same ones again. */
const rounds = 8;

/** For each step of the check. A pooler that has no server process left lets a connection wait. */
const patienceMs = 10_000;

/**
 * Each connection needs a server process of its own: its prepared statements, its time limits and the lock of
 * `claimDatabase` live there. A pooler that gives each transaction another one loses them.
 * @param setting named in the error
 * @throws one line with what to change, also where the database cannot be reached
 */
export async function requireOwnServerProcess(setting: string, url: string): Promise<void> {
  try {
    if (await sharesServerProcesses(url)) throw new SharedServerProcesses();
    await requireSettings(url);
  } catch (cause) {
    throw new ConnectionFault(setting, cause);
  }
}

/** Why a URL cannot serve, as one line that names its setting and holds no value of it. */
export class ConnectionFault extends Error {
  readonly what: string;
  readonly remedy: string;
  /** The database was not reached: it may be down just now. */
  readonly isUnreachable: boolean;

  constructor(setting: string, cause: unknown) {
    const reason = cause instanceof DatabaseUnavailable ? (cause.cause ?? cause) : cause;
    const known = explanationOf(reason);
    const [what, remedy] = known ?? [
      `the database does not answer (${codeOf(reason) || "no answer in time"})`,
      "Check host and port, and that it runs.",
    ];
    super(`${setting}: ${what}. ${remedy}`, { cause });
    this.what = what;
    this.remedy = remedy;
    this.isUnreachable = known === undefined;
  }
}

class SharedServerProcesses extends Error {}
class SettingsLost extends Error {}

const guide = "docs/guides/operations.md#poolers";
const ignoring = `In PgBouncer set ignore_startup_parameters as ${guide} shows.`;

/** By the driver's or the server's code. */
const faults: readonly (readonly [codes: RegExp, what: string, remedy: string])[] = [
  [/^08P01$/, "its pooler refuses the settings of a connection", ignoring],
  [/^28/, "the server refuses the account or its password", "Check user and password, and pg_hba.conf of the server."],
  [/^3D/, "there is no database of this name", "Check the name after the last slash."],
  [/^(?:53300|55000)$/, "the server takes no more connections", `Count them as ${guide} shows.`],
  [
    /CERT|SIGNATURE|_TLS_|_SSL_/,
    "the server's certificate is not trusted",
    "Name its authority's file in NODE_EXTRA_CA_CERTS, and the host as the certificate does.",
  ],
];

function explanationOf(reason: unknown): readonly [what: string, remedy: string] | undefined {
  if (reason instanceof SharedServerProcesses) {
    return [
      "its pooler gives each transaction another server process, so prepared statements, time limits and locks are lost",
      `Set pool_mode = session, or connect to PostgreSQL itself: ${guide}.`,
    ];
  }
  if (reason instanceof SettingsLost) return ["the settings of a connection do not reach the server", ignoring];
  const code = codeOf(reason);
  const known = faults.find(([codes]) => codes.test(code));
  return known && [`${known[1]} (${code})`, known[2]];
}

/** `invalid_sql_statement_name`, `duplicate_prepared_statement`: statements of another process. */
const isOfAnotherProcess = (error: unknown): boolean => ["26000", "42P05"].includes(codeOf(error));

/** Of two open connections, one after the other and then at once. */
async function sharesServerProcesses(url: string): Promise<boolean> {
  // Without settings, which a pooler that shares would leave behind in its server processes.
  const pair = [1, 2].map(() => postgres(url, { max: 1, connect_timeout: patienceMs / 1_000, onnotice: () => {} }));
  try {
    return await bounded(patienceMs, meetsAnother(pair as [postgres.Sql, postgres.Sql]));
  } catch (error) {
    if (isOfAnotherProcess(error) || isOfAnotherProcess((error as Error).cause)) return true;
    throw error;
  } finally {
    await Promise.all(pair.map((sql) => sql.end({ timeout: 1 })));
  }
}

async function meetsAnother([one, other]: readonly [postgres.Sql, postgres.Sql]): Promise<boolean> {
  const first = await processOf(one);
  const second = await processOf(other);
  if (first === second) return true;
  for (let round = 0; round < rounds; round++) {
    // While a transaction holds a process, the other connection gets another one, if they are shared.
    const [withinFirst, besides] = await one.begin(async (tx) => [await processOf(tx), await processOf(other)]);
    if (withinFirst !== first || besides !== second || (await processOf(one)) !== first) return true;
  }
  return false;
}

/** Unique among the servers of an address with several hosts. */
async function processOf(sql: postgres.Sql | postgres.TransactionSql): Promise<string | undefined> {
  const [row] = await sql<{ process: string }[]>`
    select concat(pg_backend_pid(), ' since ', pg_postmaster_start_time()) as process`;
  return row?.process;
}

/** @throws if the time limit of a connection is not in force: then no lock and no statement would end. */
async function requireSettings(url: string): Promise<void> {
  const sql = connect({ url, maxConnections: 1, statementTimeoutMs: patienceMs });
  try {
    const [row] = await bounded(
      patienceMs,
      sql<{ limit: string }[]>`select setting as limit from pg_settings where name = 'statement_timeout'`,
    );
    if (row?.limit === String(patienceMs)) return;
    throw new SettingsLost();
  } finally {
    await sql.end({ timeout: 1 });
  }
}
