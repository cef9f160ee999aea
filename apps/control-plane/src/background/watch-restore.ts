import {
  type HighWaterMark,
  type HighWaterMarkCounter,
  type HighWaterMarkStore,
  type RestoreState,
  RestoreUnacknowledged,
  RestoreUnknown,
  type RestoreWatch,
} from "../ports/restore-watch.ts";
import { singleFlight } from "../ports/single-flight.ts";
import { repeat } from "./repeat.ts";

interface WatchRestore {
  readonly counter: HighWaterMarkCounter;
  readonly store: HighWaterMarkStore;
  /** Called once, until the restore is acknowledged. */
  readonly onBehind: () => void;
  /** Called once, until it works again. */
  readonly onFault: (error: unknown) => void;
  /** Default 2 seconds. */
  readonly everyMs?: number;
}

/**
 * Keeps the database's high water mark in the cache store, which no restore reaches, and compares the two now and every
 * few seconds. Resolves after the first attempt.
 */
export async function watchRestore(settings: WatchRestore): Promise<RestoreWatch & { close(): void }> {
  const { counter, store, onBehind, onFault, everyMs = 2_000 } = settings;
  let state: RestoreState = "unknown";
  let seen: HighWaterMark | undefined;

  const compare = singleFlight(async (): Promise<void> => {
    const compared = await compareOnce(counter, store);
    seen = compared.seen;
    if (compared.isBehind && state !== "behind") onBehind();
    state = compared.isBehind ? "behind" : "current";
  });
  const look = async (): Promise<RestoreState> => {
    await compare().catch(() => {});
    return state;
  };
  const lookAfresh = async (): Promise<RestoreState> => {
    // One that is under way may have begun before the call.
    await look();
    return look();
  };
  /** Compares first: a database that is behind must not catch up by being raised. */
  const raise = async (): Promise<void> => {
    await compare();
    if (state !== "current" || seen === undefined) return;
    const raised = await counter.raise(seen);
    // After the commit, which a synchronous standby has too: its promotion is no restore.
    if (raised !== undefined) await store.keep({ deployment: seen.deployment, count: raised });
  };
  const loop = repeat(raise, () => everyMs, onFault, "first");
  await loop.firstRun;
  return {
    look,
    lookAfresh,
    async seen() {
      await lookAfresh();
      return seen?.count ?? 0n;
    },
    requireAcknowledged() {
      if (state === "behind") throw new RestoreUnacknowledged("the database is older than one that was served");
      if (state === "unknown") throw new RestoreUnknown("the stores could not be compared since the start");
    },
    close: loop.close,
  };
}

/** Reads the kept mark before the count that it compares, since another process may raise both. */
async function compareOnce(
  counter: HighWaterMarkCounter,
  store: HighWaterMarkStore,
): Promise<{ seen: HighWaterMark; isBehind: boolean }> {
  const { deployment, count: before } = await counter.read();
  const seen = { deployment, count: await store.seen(deployment) };
  if (seen.count <= before) return { seen, isBehind: false };
  const now = await counter.read();
  if (now.deployment !== deployment) throw new Error("another database took its place during the comparison");
  return { seen, isBehind: now.count < seen.count };
}
