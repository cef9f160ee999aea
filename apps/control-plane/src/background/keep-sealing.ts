import type { Clock } from "../ports/clock.ts";
import type { RecordSeals } from "../ports/record-seals.ts";

export interface SealKeeper {
  /** As of this process's last look: the time of the oldest row that is not sealed; null where all are. */
  oldestUnsealedMs(): number | null;
  close(): void;
}

export interface KeepSealing {
  readonly seals: RecordSeals;
  readonly clock: Clock;
  readonly onFault: (error: unknown) => void;
  /** Rows wait for far longer than they should, whatever the cause. */
  readonly onBehind: () => void;
  /** This process writes rows that others seal: a clock this far behind makes them look as if they had come later. */
  readonly onClockBehind: () => void;
  /** Default 10 seconds. */
  readonly everyMs?: number;
}

/** Every source is settled by half of this time. */
const behindMs = 600_000;

/** Half of what a row of its own identifier waits for. */
const clockSlackMs = 30_000;

/** Seals what was recorded, now and every some seconds from then on; nobody waits for it. */
export function keepSealing(keeping: KeepSealing): SealKeeper {
  const { seals, clock, onFault, onBehind, onClockBehind, everyMs = 10_000 } = keeping;
  let oldestMs: number | null = null;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  const pass = async (): Promise<void> => {
    try {
      await seals.seal();
      if (clock.nowMs() < (await seals.nowMs()) - clockSlackMs) onClockBehind();
      oldestMs = await seals.oldestUnsealedMs();
      if (oldestMs !== null && oldestMs < clock.nowMs() - behindMs) onBehind();
    } catch (error) {
      if (!isClosed) onFault(error);
    }
    if (!isClosed) timer = setTimeout(pass, everyMs).unref();
  };
  void pass();
  return {
    oldestUnsealedMs: () => oldestMs,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
