import { watchRestore } from "../background/watch-restore.ts";
import type { Events } from "../events/events.ts";
import { highWaterMarkCounter } from "../postgres/high-water-mark.ts";
import { budgets, type Stores } from "./stores.ts";

/** A start waits so long for the cache store. Without it, this process grants nothing. */
const cacheStorePatienceMs = 1_000;

/** Compares before the first request, so that a restored database never grants anything. */
export async function startRestoreWatch({ health, submissions, guard }: Stores, events: Events) {
  await guard.connected(cacheStorePatienceMs);
  return watchRestore({
    counter: highWaterMarkCounter(health, submissions.within(budgets.commit)),
    store: guard,
    onBehind: events.restoreUnacknowledged,
    onFault: events.highWaterMarkFailed,
  });
}
