import type { Clock } from "../ports/clock.ts";
import type { RecordSeals } from "../ports/record-seals.ts";
import { repeat } from "./repeat.ts";

interface RunSealing {
  readonly seals: RecordSeals;
  readonly clock: Clock;
  readonly onFault: (error: unknown) => void;
  /** Rows wait far too long for their seal, whatever the cause. */
  readonly onBehind: () => void;
  /** This process's clock is so far behind that its rows would look as if they were inserted later. */
  readonly onClockBehind: () => void;
  /** Default 10 seconds. */
  readonly everyMs?: number;
}

/** Twice the time in which every source settles. */
const behindMs = 600_000;

/** Half of the time that a row waits for its seal. */
const clockSlackMs = 30_000;

/** Seals new rows now and every few seconds. */
export function runSealing(settings: RunSealing) {
  const { seals, clock, onFault, onBehind, onClockBehind, everyMs = 10_000 } = settings;
  let oldestMs: number | null = null;
  const seal = async (): Promise<void> => {
    await seals.seal();
    if (clock.nowMs() < (await seals.nowMs()) - clockSlackMs) onClockBehind();
    oldestMs = await seals.oldestUnsealedMs();
    if (oldestMs !== null && oldestMs < clock.nowMs() - behindMs) onBehind();
  };
  const loop = repeat(seal, () => everyMs, onFault, "each");
  /** The time of the oldest unsealed row, as of this process's last run; null if all are sealed. */
  const oldestUnsealedMs = (): number | null => oldestMs;
  return { oldestUnsealedMs, close: loop.close };
}
