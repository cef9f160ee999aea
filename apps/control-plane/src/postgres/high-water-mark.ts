import type { HighWaterMark, HighWaterMarkCounter } from "../ports/restore-watch.ts";
import type { Pool } from "./database.ts";

/** The table `witness`, which has one row. Its commits may wait for a standby, and reads must not wait for them. */
export const highWaterMarkCounter = (reader: Pool, writer: Pool): HighWaterMarkCounter => ({
  async read() {
    const [row] = await reader.rows<HighWaterMark>`select deployment, count from witness`;
    if (row === undefined) throw new Error("the high water mark is missing: the one row of table witness was deleted");
    return row;
  },
  async raise({ deployment, count: seen }) {
    // Never past `seen`: that would hide what was lost. The clock is read under the row's lock, so that one of several
    // waiting processes raises it, and a clock that was set back does not stop it.
    const [row] = await writer.rows<{ count: bigint }>`
      update witness set count = count + 1, raised_at = now()
      where deployment = ${deployment} and count >= ${seen}
        and raised_at not between clock_timestamp() - interval '1.5 seconds' and clock_timestamp()
      returning count`;
    return row?.count;
  },
});
