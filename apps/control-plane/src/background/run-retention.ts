import type { Retention } from "../ports/retention.ts";
import { repeat } from "./repeat.ts";

const dailyMs = 86_400_000;
const retryMs = 600_000;

/**
 * Runs retention now and daily; after a fault, or if another process was busy, again in ten minutes. Resolves once this
 * month's partition exists: a decision that is written before would prevent the partition.
 */
export async function runRetention(retention: Retention, onFault: (error: unknown) => void) {
  let lastDoneMs: number | null = null;
  let pauseMs = retryMs;
  const prepared = Promise.withResolvers<void>();
  const attempt = async (act: () => Promise<"done" | "busy">): Promise<boolean> => {
    try {
      return (await act()) === "done";
    } catch (error) {
      if (!loop.isClosed()) onFault(error);
      return false;
    }
  };
  const run = async (): Promise<void> => {
    const isPrepared = await attempt(retention.prepareMonths);
    prepared.resolve();
    const isRetired = await attempt(async () => {
      const retired = await retention.retire();
      lastDoneMs = await retention.lastDoneMs();
      return retired;
    });
    pauseMs = isPrepared && isRetired ? dailyMs : retryMs;
  };
  const loop = repeat(run, () => pauseMs, onFault, "each");
  await prepared.promise;
  /** When any process last finished it, as of this process's last run; null before the first time. */
  const lastHousekeepingMs = (): number | null => lastDoneMs;
  return { lastHousekeepingMs, close: loop.close };
}
