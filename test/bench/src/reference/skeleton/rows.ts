import type { Sql } from "postgres";
import { insertRows, type Row } from "../../rig/row-table.ts";

interface Waiting {
  readonly row: Row;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

/** As in the product: one batch is collected while another commits, and a second one starts from this many rows on. */
const batchesInFlight = 2;
const worthACommit = 32;

/** Commits the rows of one turn of the event loop together, in two statements for many, then resolves them. */
export function groupedRows(sql: Sql): (row: Row) => Promise<void> {
  const waiting: Waiting[] = [];
  let inFlight = 0;
  let isFlushDue = false;

  function flush(): void {
    isFlushDue = false;
    while (inFlight < batchesInFlight && waiting.length >= (inFlight === 0 ? 1 : worthACommit)) {
      const half = inFlight === 0 && waiting.length >= 2 * worthACommit ? waiting.length >> 1 : waiting.length;
      send(waiting.splice(0, half));
    }
  }

  function send(batch: readonly Waiting[]): void {
    inFlight++;
    const committed = insertRows(
      sql,
      batch.map(({ row }) => row),
    );
    const settle = (end: (one: Waiting) => void) => {
      inFlight--;
      for (const one of batch) end(one);
      flush();
    };
    committed.then(
      () => settle(({ resolve }) => resolve()),
      (cause) => settle(({ reject }) => reject(cause)),
    );
  }

  return (row) =>
    new Promise((resolve, reject) => {
      waiting.push({ row, resolve, reject });
      if (isFlushDue || inFlight === batchesInFlight) return;
      isFlushDue = true;
      setImmediate(flush);
    });
}
