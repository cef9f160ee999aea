import type { WouldBlockCounts } from "../../ports/would-block-counts.ts";
import { codeOf, oneAtATime, type Pool } from "../database.ts";

/** Any constant, the same in every process. */
const advisoryLock = 7_270_125_203;

export const wouldBlockCounts = ({ sql }: Pool): WouldBlockCounts => ({
  countNext: () =>
    sql
      .begin((tx) =>
        oneAtATime(tx, advisoryLock, async () => {
          const [row] = await tx<{ counted: number }[]>`select count_would_blocks() as counted`;
          return (row?.counted ?? 0) > 0 ? ("more" as const) : ("done" as const);
        }),
      )
      .then((outcome) => (outcome === "taken" ? "busy" : outcome))
      .catch(busyWhereLocked),
});

function busyWhereLocked(error: unknown): "busy" {
  if (codeOf(error) === "55P03") return "busy";
  throw error;
}
