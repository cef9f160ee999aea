import { type RestoreWatch, watchRestore } from "../background/watch-restore.ts";
import type { Events } from "../events/events.ts";
import { witnessCount } from "../postgres/witness.ts";
import { budgets, type Stores } from "./stores.ts";

/** How long a start waits for the cache store; without it, it serves what needs no grant. */
const cacheStorePatienceMs = 1_000;

/** Before anything is served, so that a database that was taken back grants nothing from the first request on. */
export async function startRestoreWatch({ health, submissions, guard }: Stores, events: Events): Promise<RestoreWatch> {
  await guard.connected(cacheStorePatienceMs);
  return watchRestore({
    count: witnessCount({
      reader: health,
      writer: submissions,
      readDeadlineMs: budgets.probe,
      commitDeadlineMs: budgets.commit,
    }),
    memory: guard,
    onBehind: events.restoreUnacknowledged,
    onFault: events.witnessFailed,
  });
}
