import { within } from "@svc/host";
import { budgets } from "../budgets.ts";
import type { ReplayGuard } from "../ports/replay-guard.ts";
import type { RestoreWatch } from "../ports/restore-watch.ts";

/** Readiness of each dependency. A check rejects, or takes too long, when it cannot serve. */
export type Probes = ReadonlyMap<ProbeName, () => Promise<void>>;

export type ProbeName = "database" | "cache_store" | "restore" | "seals" | "draining";

interface ProbeDeps {
  readonly probeDatabase: () => Promise<void>;
  readonly guard: Pick<ReplayGuard, "ping" | "evictionPolicy">;
  readonly restoreWatch: Pick<RestoreWatch, "look">;
  readonly sealsAreProven: () => boolean;
  readonly isDraining: () => boolean;
  readonly onEvictionUnknown: () => void;
  /** Called with the first failure after a success. */
  readonly onDatabaseFailing: (cause: unknown) => void;
}

/** In the order in which `/readyz` names them. */
export function readinessProbes({ restoreWatch, sealsAreProven, isDraining, ...deps }: ProbeDeps): Probes {
  const database = reportingFirst(deps.probeDatabase, deps.onDatabaseFailing);
  const cacheStore = async (): Promise<void> => {
    await probeGuard(deps);
    if ((await restoreWatch.look()) === "unknown") throw new Error("the high water mark could not be compared yet");
  };
  const restore = async (): Promise<void> => {
    if ((await restoreWatch.look()) === "behind") throw new Error("the database is older than one that was served");
  };
  const seals = async (): Promise<void> => {
    if (!sealsAreProven()) throw new Error("the newest row of the table of seals is not this service's");
  };
  const draining = async (): Promise<void> => {
    if (isDraining()) throw new Error("this process is draining");
  };
  return new Map([
    ["database", database],
    ["cache_store", cacheStore],
    ["restore", restore],
    ["seals", seals],
    ["draining", draining],
  ]);
}

function reportingFirst(check: () => Promise<void>, report: (cause: unknown) => void) {
  let isFailing = false;
  return async (): Promise<void> => {
    try {
      await check();
      isFailing = false;
    } catch (cause) {
      if (!isFailing) report(cause);
      isFailing = true;
      throw cause;
    }
  };
}

/** An evicting store could forget a spend, so it cannot serve (docs/reference/tokens.md#single-use). */
async function probeGuard({ guard, onEvictionUnknown }: Pick<ProbeDeps, "guard" | "onEvictionUnknown">): Promise<void> {
  await guard.ping();
  const policy = await guard.evictionPolicy();
  if (policy === "evicts") throw new Error("the cache store may evict live entries");
  if (policy === "unknown") onEvictionUnknown();
}

export async function failingProbes(probes: Probes): Promise<readonly ProbeName[]> {
  const late = () => new Error(`no answer within ${budgets.readiness} ms`);
  const results = await Promise.allSettled(
    [...probes.values()].map(async (check) => within(budgets.readiness, check(), late)),
  );
  return [...probes.keys()].filter((_, index) => results[index]?.status === "rejected");
}
