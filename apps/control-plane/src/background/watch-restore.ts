import { singleFlight } from "../commands/readiness.ts";
import type { Witness, WitnessCount, WitnessMemory } from "../ports/witness.ts";

/**
 * `behind`: the database is older than one that was served before, so that spends and revocations are forgotten.
 * `unknown`: this process could not compare yet.
 */
export type Standing = "unknown" | "current" | "behind";

/** Nothing is granted until the issuer's epoch refuses all that was issued before (contract: Issuer keys, restore). */
export class RestoreUnacknowledged extends Error {
  readonly code = "restore_unacknowledged";
}

/** Of a process that has not seen both stores since its start. */
export class RestoreUnknown extends Error {
  readonly code = "guard_unavailable";
}

export interface RestoreWatch {
  /** Compares now; where a store does not answer, what was found last still stands. Never rejects. */
  look(): Promise<Standing>;
  /** The same, begun after the call. */
  lookAfresh(): Promise<Standing>;
  /** The highest count that is known to have been seen of this database; whoever acknowledges goes above it. */
  seen(): Promise<bigint>;
  /**
   * Costs a comparison, no call.
   * @throws {RestoreUnacknowledged}
   * @throws {RestoreUnknown}
   */
  requireAcknowledged(): void;
  close(): void;
}

export interface WatchRestore {
  readonly count: WitnessCount;
  readonly memory: WitnessMemory;
  /** Told once, until it is acknowledged. */
  readonly onBehind: () => void;
  /** Told once, until it works again. */
  readonly onFault: (error: unknown) => void;
  /** Default 2 seconds. */
  readonly everyMs?: number;
}

/**
 * Keeps a witness of how far the database has come where a restore does not reach, and compares the two: now and every
 * some seconds. Resolves after the first attempt.
 */
export async function watchRestore(watching: WatchRestore): Promise<RestoreWatch> {
  const { count, memory, onBehind, onFault, everyMs = 2_000 } = watching;
  let standing: Standing = "unknown";
  let seen: Witness | undefined;
  let isReported = false;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  const compare = singleFlight(async (): Promise<void> => {
    const compared = await compareOnce(count, memory);
    seen = compared.seen;
    if (compared.isBehind && standing !== "behind") onBehind();
    standing = compared.isBehind ? "behind" : "current";
  });
  const look = (): Promise<Standing> =>
    compare().then(
      () => standing,
      () => standing,
    );
  const lookAfresh = async (): Promise<Standing> => {
    // One that is on its way may have begun before.
    await look();
    return look();
  };
  /** First compared, then raised: raised while it is behind, it would catch up by itself. */
  const pass = async (): Promise<void> => {
    await compare();
    if (standing !== "current" || seen === undefined) return;
    const raised = await count.raise(seen);
    // After the commit, which a synchronous standby has as well: its promotion is no restore.
    if (raised !== undefined) await memory.keep({ deployment: seen.deployment, count: raised });
  };
  const attempt = async (): Promise<void> => {
    try {
      await pass();
      isReported = false;
    } catch (error) {
      if (!isReported && !isClosed) onFault(error);
      isReported = true;
    }
  };
  const keepOn = async (): Promise<void> => {
    await attempt();
    if (!isClosed) timer = setTimeout(keepOn, everyMs).unref();
  };

  await keepOn();
  return {
    look,
    lookAfresh,
    async seen() {
      await lookAfresh();
      return seen?.count ?? 0n;
    },
    requireAcknowledged() {
      if (standing === "behind") throw new RestoreUnacknowledged("the database is older than one that was served");
      if (standing === "unknown") throw new RestoreUnknown("the stores could not be compared since the start");
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/** What was seen is read before the count it is compared with, which another process may be raising. */
async function compareOnce(count: WitnessCount, memory: WitnessMemory): Promise<{ seen: Witness; isBehind: boolean }> {
  const { deployment, count: before } = await count.read();
  const seen = { deployment, count: await memory.seen(deployment) };
  if (seen.count <= before) return { seen, isBehind: false };
  const now = await count.read();
  if (now.deployment !== deployment) throw new Error("another database took its place while it was compared");
  return { seen, isBehind: now.count < seen.count };
}
