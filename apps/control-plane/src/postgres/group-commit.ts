import { bounded, committedNothing } from "./database.ts";

export interface GroupCommitSettings<Row, Outcome> {
  /** Writes all rows in one statement, all or nothing, and returns their outcomes in order. */
  readonly write: (rows: readonly Row[]) => Promise<readonly Outcome[]>;
  /** No two rows of concurrent statements may share a key: the database could not tell their outcomes apart. */
  readonly keysOf: (row: Row) => readonly string[];
  /** For a caller, queueing included. A row without a waiting caller is not sent. */
  readonly deadlineMs: number;
}

interface Entry<Row, Outcome> extends PromiseWithResolvers<Outcome> {
  readonly row: Row;
  readonly keys: readonly string[];
  isAwaited: boolean;
}

/** One is prepared while the other is flushed to disk. */
const batchesInFlight = 2;
const rowsPerBatch = 256;
/** A second batch costs a commit of its own, so fewer rows wait for the first one. */
const minRowsForSecondBatch = 32;

/**
 * Commits the rows of concurrent callers together: those of one turn of the event loop, or those that arrived during the
 * last batch. Many rows go in two halves, so that database and process need not wait for each other. A row that the
 * database refuses fails alone. The returned function throws DatabaseUnavailable if the commit of its row is unknown.
 */
export function groupCommit<Row, Outcome>(settings: GroupCommitSettings<Row, Outcome>): (row: Row) => Promise<Outcome> {
  const { write, keysOf, deadlineMs } = settings;
  let queue: Entry<Row, Outcome>[] = [];
  const keysInFlight = new Set<string>();
  let inFlight = 0;
  let isFlushDue = false;

  function nextBatch(atMost: number): readonly Entry<Row, Outcome>[] {
    const batch: Entry<Row, Outcome>[] = [];
    const left: Entry<Row, Outcome>[] = [];
    for (const entry of queue) {
      if (!entry.isAwaited) continue;
      if (batch.length < atMost && !entry.keys.some((key) => keysInFlight.has(key))) {
        for (const key of entry.keys) keysInFlight.add(key);
        batch.push(entry);
      } else left.push(entry);
    }
    queue = left;
    return batch;
  }

  function flush(): void {
    while (inFlight < batchesInFlight && queue.length >= (inFlight === 0 ? 1 : minRowsForSecondBatch)) {
      const share = Math.floor(queue.length / (batchesInFlight - inFlight));
      const batch = nextBatch(Math.min(rowsPerBatch, share < minRowsForSecondBatch ? queue.length : share));
      if (batch.length === 0) return;
      inFlight++;
      const release = () => {
        inFlight--;
        for (const { keys } of batch) for (const key of keys) keysInFlight.delete(key);
        flush();
      };
      // At its deadline too: a statement on a dead connection must not block later rows.
      bounded(deadlineMs, settle(batch, write)).then(release, release);
    }
  }

  function flushSoon(): void {
    if (isFlushDue || inFlight === batchesInFlight) return;
    isFlushDue = true;
    setImmediate(() => {
      isFlushDue = false;
      flush();
    });
  }

  return (row) => {
    const entry = { ...Promise.withResolvers<Outcome>(), row, keys: keysOf(row), isAwaited: true };
    queue.push(entry);
    flushSoon();
    return bounded(deadlineMs, entry.promise).finally(() => {
      entry.isAwaited = false;
    });
  };
}

/** A refused batch committed nothing, so it is halved until the faulty row is alone. */
async function settle<Row, Outcome>(
  batch: readonly Entry<Row, Outcome>[],
  write: GroupCommitSettings<Row, Outcome>["write"],
): Promise<void> {
  try {
    const outcomes = await write(batch.map(({ row }) => row));
    batch.forEach((entry, index) => {
      const outcome = outcomes[index];
      if (outcome === undefined) entry.reject(new Error("a statement left a row without an outcome"));
      else entry.resolve(outcome);
    });
  } catch (error) {
    if (batch.length === 1 || !committedNothing(error)) for (const { reject } of batch) reject(error);
    else {
      const middle = batch.length >> 1;
      for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
        const awaited = half.filter(({ isAwaited }) => isAwaited);
        if (awaited.length > 0) await settle(awaited, write);
      }
    }
  }
}
