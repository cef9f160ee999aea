import { setTimeout as delay } from "node:timers/promises";
import type { Clock, Ids } from "../ports/clock.ts";
import type { Housekeeping } from "../ports/housekeeping.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import { bounded, type Sql, type Transaction } from "./database.ts";
import { oneAtATime } from "./one-at-a-time.ts";

export interface HousekeepingSettings {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly readDeadlineMs: number;
}

/** Any constant, the same in every process: one of them keeps house, the others come again. */
const advisoryLock = 7_270_125_201;

/** A month is attached and dropped under locks that are waited for only shortly, so as to let decisions through. */
const attempts = 20;
const pauseMs = 250;

export const housekeeping = ({ sql, clock, ids, readDeadlineMs }: HousekeepingSettings): Housekeeping => ({
  prepareMonths: () => toTheEnd(sql, makePartitions),
  async retire() {
    for (const step of [retireMonth({ clock, ids }), purgeSpends, purgeEnded, noteTime(clock)]) {
      if ((await toTheEnd(sql, step)) === "busy") return "busy";
    }
    return "done";
  },
  async lastDoneMs() {
    const [row] = await bounded(readDeadlineMs, sql<{ ran_at: Date | null }[]>`select ran_at from housekeeping`);
    return row?.ran_at?.getTime() ?? null;
  },
});

/** One short transaction's worth of work. */
type Step = (tx: Transaction) => Promise<"more" | "done">;

async function toTheEnd(sql: Sql, step: Step): Promise<"done" | "busy"> {
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
  if (error instanceof Error && "code" in error && error.code === "55P03") return "waited";
  throw error;
}

const makePartitions: Step = async (tx) => {
  await tx`select make_decision_partitions()`;
  return "done";
};

/** That the record lost a month is itself recorded. */
const retireMonth =
  ({ clock, ids }: Pick<HousekeepingSettings, "clock" | "ids">): Step =>
  async (tx) => {
    const [row] = await tx<{ month: string | null }[]>`select to_char(retire_oldest_month(), 'YYYY-MM') as month`;
    if (row?.month == null) return "done";
    await insertAdministrativeEvent(tx, {
      eventId: ids.next(),
      kind: "records_retired",
      atMs: clock.nowMs(),
      actor: "retention",
      sessionId: null,
      agent: null,
      reason: null,
      details: { month: row.month },
    });
    return "more";
  };

const purgeSpends: Step = async (tx) => {
  const [row] = await tx<{ purged: number }[]>`select purge_retired_spends() as purged`;
  return (row?.purged ?? 0) > 0 ? "more" : "done";
};

const purgeEnded: Step = async (tx) => {
  const [row] = await tx<{ purged: number }[]>`select purge_ended() as purged`;
  return (row?.purged ?? 0) > 0 ? "more" : "done";
};

const noteTime =
  (clock: Clock): Step =>
  async (tx) => {
    await tx`update housekeeping set ran_at = ${new Date(clock.nowMs())}`;
    return "done";
  };
