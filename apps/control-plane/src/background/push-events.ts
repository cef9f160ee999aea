import type { Clock } from "../ports/clock.ts";
import type { PushedEvent, PushedEvents, PushPosition } from "../ports/pushed-events.ts";

/** A reader of the push. */
export interface PushReader {
  /** Events in the order of their commits, and the position after them. A `lost` reader may lack any. Never throws. */
  take(events: readonly PushedEvent[], position: PushPosition, isLost: boolean): void;
  /** This process ends. */
  end(): void;
}

/** Where a reader begins: at a transaction, at a time, or now. */
export interface PushStart {
  readonly transaction?: bigint | undefined;
  readonly sinceMs?: number | undefined;
}

export type Push = ReturnType<typeof pushEvents>;

interface PushSettings {
  readonly events: PushedEvents;
  readonly clock: Clock;
  /** Between two reads of the database while there are readers. Default 250 milliseconds. */
  readonly everyMs?: number;
  /** For this process. Default 1,000. */
  readonly maxReaders?: number;
}

/** More at once, or before a reader's start, is not sent: the reader reads the lists again. */
const maxEvents = 10_000;

/** A position is kept by the client; a later one of the same cluster is from before a restore, or forged. */
const isAhead = (transaction: bigint | undefined, position: PushPosition): boolean =>
  transaction !== undefined && transaction > position.oldestOpen;

/** Reads what was committed, once for all readers of this process, and only while there are any. */
export function pushEvents({ events, clock, everyMs = 250, maxReaders = 1_000 }: PushSettings) {
  const readers = new Set<PushReader>();
  let joining = 0;
  let position: PushPosition | undefined;
  let reading: Promise<PushPosition> = Promise.reject(new Error("nothing was read"));
  reading.catch(() => {});
  let isRepeating = false;
  let isEnded = false;

  const read = async (): Promise<PushPosition> => {
    const found = await events.read(position, maxEvents);
    position = found.position;
    for (const reader of readers) reader.take(found.isLost ? [] : found.events, found.position, found.isLost);
    return found.position;
  };
  /** One after the other: each begins where the last one ended. */
  const readNext = (): Promise<PushPosition> => {
    reading = reading.catch(() => {}).then(read);
    return reading;
  };
  const repeat = (): void => {
    if (isRepeating) return;
    isRepeating = true;
    setTimeout(async () => {
      await readNext().catch(() => {});
      isRepeating = false;
      if (readers.size > 0) repeat();
      else position = undefined;
    }, everyMs).unref();
  };

  return {
    isFull: () => readers.size + joining >= maxReaders,
    /** Has the reader take what is committed from now on, and returns what was before. */
    async join(reader: PushReader, start: PushStart): Promise<{ readonly take: Parameters<PushReader["take"]> }> {
      joining += 1;
      const begun = await readNext().finally(() => {
        joining -= 1;
      });
      readers.add(reader);
      repeat();
      try {
        return { take: await before(begun, start) };
      } catch (error) {
        readers.delete(reader);
        throw error;
      } finally {
        if (isEnded) reader.end();
      }
    },
    leave: (reader: PushReader): void => void readers.delete(reader),
    /** Ends every reader, and those that join later after what was before. */
    end(): void {
      isEnded = true;
      for (const reader of readers) reader.end();
    },
  };

  async function before(begun: PushPosition, start: PushStart): Promise<Parameters<PushReader["take"]>> {
    if (isAhead(start.transaction, begun)) return [[], begun, true];
    const found = await earlier(start);
    return found.length > maxEvents ? [[], begun, true] : [found, begun, false];
  }

  async function earlier({ transaction, sinceMs }: PushStart): Promise<readonly PushedEvent[]> {
    if (sinceMs !== undefined) return events.sinceTime(sinceMs, clock.nowMs(), maxEvents + 1);
    return transaction === undefined ? [] : events.fromTransaction(transaction, maxEvents + 1);
  }
}
