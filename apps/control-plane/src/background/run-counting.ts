import { setTimeout as delay } from "node:timers/promises";
import type { WouldBlockCounts } from "../ports/would-block-counts.ts";
import { repeat } from "./repeat.ts";

interface RunCounting {
  readonly counts: WouldBlockCounts;
  /** The first fault after a run that succeeded. Reads stay exact and become slower. */
  readonly onFault: (error: unknown) => void;
  /** Default 10 seconds. */
  readonly everyMs?: number;
  /** Between two pieces of one run, for reads and retention. Default 100 ms. */
  readonly pauseMs?: number;
}

/** Counts new observed denies now and every few seconds. */
export function runCounting({ counts, onFault, everyMs = 10_000, pauseMs = 100 }: RunCounting) {
  const count = async (): Promise<void> => {
    while (!loop.isClosed() && (await counts.countNext()) === "more") await delay(pauseMs, undefined, { ref: false });
  };
  const loop = repeat(count, () => everyMs, onFault, "first");
  return { close: loop.close };
}
