import { bounded, committedNothing } from "./database.ts";

export interface GroupCommitSettings<Row, Outcome> {
  /** Writes all rows in one statement, all or nothing, and answers their outcomes in their order. */
  readonly write: (rows: readonly Row[]) => Promise<readonly Outcome[]>;
  /** What no two rows of one statement, or of two at once, may share: the database could not tell their outcomes apart. */
  readonly keysOf: (row: Row) => readonly string[];
  /** How long a caller waits, queueing included. What it no longer waits for is not sent any more. */
  readonly deadlineMs: number;
}

interface Entry<Row, Outcome> {
  readonly row: Row;
  readonly keys: readonly string[];
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
  isAwaited: boolean;
}

/** Two, so that one is being made while the other is being flushed. */
const batchesInFlight = 2;
const rowsPerBatch = 256;
/** A second batch beside the first costs a commit of its own, so fewer rows than these wait for the first to end. */
const worthASecond = 32;

/**
 * Commits rows of concurrent callers together: those of one turn of the event loop at once where nothing else is being
 * written, else in the next batch. Rows that are worth two commits go in two halves: callers that are answered together
 * come back together, and as one batch they would have database and process wait for each other. Each caller is answered
 * after the commit of its own batch, and a row that the database refuses fails alone.
 * @returns what writes one row; it throws DatabaseUnavailable where the row may or may not have been committed.
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
    while (inFlight < batchesInFlight && queue.length >= (inFlight === 0 ? 1 : worthASecond)) {
      const share = Math.floor(queue.length / (batchesInFlight - inFlight));
      const batch = nextBatch(Math.min(rowsPerBatch, share < worthASecond ? queue.length : share));
      if (batch.length === 0) return;
      inFlight++;
      void overWithin(deadlineMs, settle(batch, write)).then(() => {
        inFlight--;
        for (const { keys } of batch) for (const key of keys) keysInFlight.delete(key);
        flush();
      });
    }
  }

  /** Requests that were read from their sockets in one turn share a batch. */
  function flushSoon(): void {
    if (isFlushDue || inFlight === batchesInFlight) return;
    isFlushDue = true;
    setImmediate(() => {
      isFlushDue = false;
      flush();
    });
  }

  return (row) => {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const entry = { row, keys: keysOf(row), resolve, reject, isAwaited: true };
    queue.push(entry);
    flushSoon();
    return bounded(deadlineMs, promise).finally(() => {
      entry.isAwaited = false;
    });
  };
}

/**
 * Resolves when the work is over, or when its time is: a statement that never ends, on a connection that nobody knows is dead,
 * must not hold up those that come after. By then nobody waits for its outcome, so its keys are free again too.
 */
function overWithin(deadlineMs: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, deadlineMs);
  const end = () => {
    clearTimeout(timer);
    resolve();
  };
  work.then(end, end);
  return promise;
}

/** A batch that was refused committed nothing, so it is halved until the row that is at fault stands alone. */
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
