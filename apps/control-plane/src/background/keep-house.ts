import type { Housekeeping } from "../ports/housekeeping.ts";

export interface HouseKeeper {
  /** When it was last done by any process, as of this one's last look; null before the first time. */
  lastDoneMs(): number | null;
  close(): void;
}

export interface KeepHouse {
  readonly housekeeping: Housekeeping;
  readonly onFault: (error: unknown) => void;
}

const dailyMs = 86_400_000;
const soonMs = 600_000;

/**
 * Keeps house now and daily from then on; what another process is at, or what failed, is tried again soon. Resolves once
 * this month of the log stands: a decision written before would keep the month from ever being made.
 */
export async function keepHouse({ housekeeping, onFault }: KeepHouse): Promise<HouseKeeper> {
  let lastDoneMs: number | null = null;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  const attempt = async (act: () => Promise<"done" | "busy">): Promise<"done" | "busy"> => {
    try {
      return await act();
    } catch (error) {
      if (!isClosed) onFault(error);
      return "busy";
    }
  };
  const retire = async (prepared: "done" | "busy"): Promise<void> => {
    const outcome = await attempt(async () => {
      const retired = await housekeeping.retire();
      lastDoneMs = await housekeeping.lastDoneMs();
      return retired;
    });
    if (isClosed) return;
    timer = setTimeout(pass, prepared === "done" && outcome === "done" ? dailyMs : soonMs).unref();
  };
  const pass = async (): Promise<void> => retire(await attempt(housekeeping.prepareMonths));

  // What is left to retire may take its time, and nobody waits for it.
  void retire(await attempt(housekeeping.prepareMonths));
  return {
    lastDoneMs: () => lastDoneMs,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
