import type { Witness, WitnessCount } from "../ports/witness.ts";
import { bounded, type Sql } from "./database.ts";

export interface WitnessCountSettings {
  readonly reader: Sql;
  /** Its commits may wait for a standby: not for what readiness asks. */
  readonly writer: Sql;
  readonly readDeadlineMs: number;
  readonly commitDeadlineMs: number;
}

/** The table `witness`, which has one row. */
export const witnessCount = (settings: WitnessCountSettings): WitnessCount => ({
  async read() {
    const { reader, readDeadlineMs } = settings;
    const [row] = await bounded(readDeadlineMs, reader<Witness[]>`select deployment, count from witness`);
    if (row === undefined) throw new Error("the witness of the database is missing: its one row was deleted");
    return row;
  },
  async raise({ deployment, count: seen }) {
    const { writer, commitDeadlineMs } = settings;
    // Never past what was seen: that would hide what was lost. By the time at which the row is had, so that of those who wait
    // for it one raises; and a clock that was set back does not hold it up.
    const raised = writer<{ count: bigint }[]>`
      update witness set count = count + 1, raised_at = now()
      where deployment = ${deployment} and count >= ${seen}
        and raised_at not between clock_timestamp() - interval '1.5 seconds' and clock_timestamp()
      returning count`;
    const [row] = await bounded(commitDeadlineMs, raised);
    return row?.count;
  },
});
