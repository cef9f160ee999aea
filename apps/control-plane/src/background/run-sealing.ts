import type { Clock } from "../ports/clock.ts";
import { type RecordSeals, SealsUnproven } from "../ports/record-seals.ts";
import { repeat } from "./repeat.ts";

interface RunSealing {
  readonly seals: RecordSeals;
  readonly clock: Clock;
  readonly onFault: (error: unknown) => void;
  /** Rows wait far too long for their seal, whatever the cause. */
  readonly onBehind: () => void;
  /** This process's clock is so far behind that its rows would look as if they were inserted later. */
  readonly onClockBehind: () => void;
  readonly onUnproven: (fault: SealsUnproven) => void;
  /** Default 10 seconds. */
  readonly everyMs?: number;
}

/** Twice the time in which every source settles. */
const behindMs = 600_000;

/** Half of the time that a row waits for its seal. */
const clockSlackMs = 30_000;

/** Seals new rows now and every few seconds. */
export function runSealing(settings: RunSealing) {
  const { seals, clock, onFault, onBehind, onClockBehind, onUnproven, everyMs = 10_000 } = settings;
  let oldestMs: number | null = null;
  let isProven = true;
  const judge = (): void => {
    const unproven = seals.unproven();
    isProven = unproven.length === 0;
    if (!isProven) onUnproven(new SealsUnproven(unproven));
  };
  const seal = async (): Promise<void> => {
    await seals.seal();
    // It may have sealed after them. They are reported all the same.
    judge();
    if (clock.nowMs() < (await seals.nowMs()) - clockSlackMs) onClockBehind();
    oldestMs = await seals.oldestUnsealedMs();
    isProven = seals.unproven().length === 0;
    if (oldestMs !== null && oldestMs < clock.nowMs() - behindMs) onBehind();
  };
  const report = (error: unknown): void => {
    if (error instanceof SealsUnproven) {
      isProven = false;
      onUnproven(error);
    } else onFault(error);
  };
  const loop = repeat(seal, () => everyMs, report, "each");
  /** The time of the oldest unsealed row, as of this process's last run; null if all are sealed. */
  const oldestUnsealedMs = (): number | null => oldestMs;
  /** Whether the newest seal is this service's, as of this process's last run. */
  const sealsAreProven = (): boolean => isProven;
  return { oldestUnsealedMs, sealsAreProven, close: loop.close };
}
