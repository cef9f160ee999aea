import type { Pools, Sql } from "./database.ts";
import { insertDecisions } from "./decision-rows.ts";
import { readNothing } from "./session-state.ts";
import { insertExchanges } from "./spends.ts";

const patienceMs = 5_000;

/** Opens every connection and has it plan its statements, so that first calls do not wait. Readiness reports faults. */
export async function warmUp({ writer, reader }: Pools<"writer" | "reader">): Promise<void> {
  const insertNothing = async (sql: Sql) => {
    await insertDecisions(sql, []);
    await insertExchanges(sql, []);
  };
  const warm = Promise.all([onEachConnection(writer.sql, insertNothing), onEachConnection(reader.sql, readNothing)]);
  await writer
    .within(patienceMs)
    .run(() => warm)
    .catch(() => {});
}

/** Reserves all connections first, so that each is used once. */
async function onEachConnection(sql: Sql, use: (sql: Sql) => Promise<unknown>): Promise<void> {
  const reserved = await Promise.allSettled(Array.from({ length: sql.options.max }, () => sql.reserve()));
  const opened = reserved.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  try {
    await Promise.all(opened.map(use));
  } finally {
    for (const connection of opened) connection.release();
  }
}
