import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Measured, TargetResult } from "./targets.ts";

/** One run: its machine and options, and the median of every figure. */
export interface KeptRun {
  readonly at: string;
  readonly commit: string;
  readonly machine: { readonly cores: number; readonly model: string; readonly node: string };
  readonly quick: boolean;
  readonly targets: readonly { readonly id: number; readonly ratio: number | null; readonly met: boolean }[];
  readonly figures: Readonly<Record<string, number>>;
}

/** The number of runs that are kept; the oldest is removed first. */
export const keptRuns = 50;

export const toKeptRun = (
  facts: Pick<KeptRun, "at" | "commit" | "machine" | "quick">,
  figures: Measured,
  targets: readonly TargetResult[],
): KeptRun => ({
  ...facts,
  targets: targets.map(({ id, ratio, met }) => ({ id, ratio, met })),
  figures: Object.fromEntries([...figures].map(([key, { median }]) => [key, Number(median.toPrecision(4))])),
});

/** @throws {Error} where the file is no history, so that it is not overwritten */
export function readHistory(file: string): readonly KeptRun[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw cause;
  }
  const runs: unknown = JSON.parse(text);
  if (!Array.isArray(runs)) throw new Error(`${file} is no history of runs: move it away to start a new one`);
  return runs as KeptRun[];
}

/** Replaces the file atomically, so that an interrupted run leaves the old one. */
export function keepRun(file: string, run: KeptRun): void {
  const runs = [...readHistory(file), run].slice(-keptRuns);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.partial`, `${JSON.stringify(runs, null, 2)}\n`);
  renameSync(`${file}.partial`, file);
}

/** The largest changes since the last run of the same kind on the same machine, as ratios now / then. */
export function changesSince(
  runs: readonly KeptRun[],
  run: KeptRun,
): readonly (readonly [key: string, ratio: number])[] {
  const before = runs.findLast(({ quick, machine }) => quick === run.quick && machine.model === run.machine.model);
  if (before === undefined) return [];
  return Object.entries(run.figures)
    .flatMap(([key, now]) => {
      const then = before.figures[key];
      return then === undefined || then === 0 || now === 0 ? [] : [[key, now / then] as const];
    })
    .toSorted(([, a], [, b]) => Math.abs(Math.log(b)) - Math.abs(Math.log(a)));
}
