import { repeat } from "./repeat.ts";

interface PushStreams {
  /** False if no stream waits. */
  readonly pushNext: () => Promise<boolean>;
  readonly onFault: (error: unknown) => void;
  /** Default a second. */
  readonly everyMs?: number;
}

/** Pushes to each receiver what waits for it, now and every second. A receiver that fails delays no other. */
export function pushStreams({ pushNext, onFault, everyMs = 1_000 }: PushStreams) {
  let isClosed = false;
  const pushAll = async (): Promise<void> => {
    const faults: unknown[] = [];
    for (let isMore = true; isMore && !isClosed; ) {
      isMore = await pushNext().catch((error: unknown) => {
        faults.push(error);
        return faults.length < mostFaults;
      });
    }
    if (faults.length > 0) throw faults[0];
  };
  const loop = repeat(pushAll, () => everyMs, onFault, "first");
  return {
    close(): void {
      isClosed = true;
      loop.close();
    },
  };
}

/** In one run: where the database fails, each try does. */
const mostFaults = 10;
