import { bounded, type Sql } from "./database.ts";
import { insertDecisions } from "./decision-inserts.ts";
import { insertExchanges } from "./exchange-inserts.ts";
import { readNothing } from "./session-state.ts";

const patienceMs = 5_000;

/**
 * Opens every connection that hops wait for, and has the server plan their statements on each, without a row: the first
 * crowd after a start or a deploy must not spend its budgets on that. Where it does not come about the process serves all
 * the same, and readiness tells what the database is like.
 */
export async function warmUp({ writer, reader }: { readonly writer: Sql; readonly reader: Sql }): Promise<void> {
  const warm = Promise.all([
    onEachConnection(writer, async (sql) => {
      await insertDecisions(sql, []);
      await insertExchanges(sql, []);
    }),
    onEachConnection(reader, readNothing),
  ]);
  await bounded(patienceMs, warm).catch(() => {});
}

/** All are held before any is used, so that none is met twice. */
async function onEachConnection(pool: Sql, use: (sql: Sql) => Promise<unknown>): Promise<void> {
  const held = await Promise.allSettled(Array.from({ length: pool.options.max }, () => pool.reserve()));
  const opened = held.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  try {
    await Promise.all(opened.map(use));
  } finally {
    for (const sql of opened) sql.release();
  }
}
