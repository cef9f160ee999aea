import { setTimeout as delay } from "node:timers/promises";
import type { Clock, Ids } from "../ports/clock.ts";
import type { Retention } from "../ports/retention.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import { codeOf, oneAtATime, type Pool, type Sql, type Transaction } from "./database.ts";

export interface RetentionSettings {
  /** Its deadline bounds reads only. */
  readonly pool: Pool;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Any constant, the same in every process. */
const advisoryLock = 7_270_125_201;

/** Months are attached and dropped under short lock timeouts, which let decisions through. */
const attempts = 20;
const pauseMs = 250;

export const retention = ({ pool, clock, ids }: RetentionSettings): Retention => ({
  prepareMonths: () =>
    untilDone(pool.sql, async (tx) => {
      await tx`select make_decision_partitions()`;
      return "done";
    }),
  async retire() {
    const recordTime: Step = async (tx) => {
      await tx`update housekeeping set ran_at = ${new Date(clock.nowMs())}`;
      return "done";
    };
    for (const step of [retireMonth(clock, ids), ...purges.map(purge), recordTime]) {
      if ((await untilDone(pool.sql, step)) === "busy") return "busy";
    }
    return "done";
  },
  async lastDoneMs() {
    const [row] = await pool.rows<{ ran_at: number | null }>`select ran_at from housekeeping`;
    return row?.ran_at ?? null;
  },
});

/** The work of one short transaction. */
type Step = (tx: Transaction) => Promise<"more" | "done">;

async function untilDone(sql: Sql, step: Step): Promise<"done" | "busy"> {
  for (let attempt = 1; attempt <= attempts; ) {
    const outcome = await sql.begin((tx) => oneAtATime(tx, advisoryLock, step)).catch(waitedTooLong);
    if (outcome === "done") return "done";
    if (outcome === "taken") return "busy";
    if (outcome === "more") continue;
    attempt++;
    await delay(pauseMs);
  }
  return "busy";
}

function waitedTooLong(error: unknown): "waited" {
  if (codeOf(error) === "55P03") return "waited";
  throw error;
}

/** Records that the record lost a month. */
const retireMonth =
  (clock: Clock, ids: Ids): Step =>
  async (tx) => {
    const [row] = await tx<{ month: string | null }[]>`select to_char(retire_oldest_month(), 'YYYY-MM') as month`;
    if (row?.month == null) return "done";
    await insertAdministrativeEvent(tx, {
      eventId: ids.next(),
      kind: "records_retired",
      atMs: clock.nowMs(),
      actor: "retention",
      details: { month: row.month },
    });
    return "more";
  };

/** Functions of the schema. Each deletes a batch and returns how many rows. */
const purges = [
  ...(["purge_retired_spends", "purge_retired_counts", "purge_ended", "purge_past_consents"] as const),
  ...(["purge_pushed_events", "purge_received_sets"] as const),
] as const;

const purge =
  (name: (typeof purges)[number]): Step =>
  async (tx) => {
    const [row] = await tx<{ purged: number }[]>`select ${tx(name)}() as purged`;
    return (row?.purged ?? 0) > 0 ? "more" : "done";
  };
