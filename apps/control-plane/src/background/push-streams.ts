import { repeat } from "./repeat.ts";

interface PushStreams {
  /** Leases a stream that waits, and returns what pushes its events. Undefined if no stream waits. */
  readonly nextPush: () => Promise<(() => Promise<void>) | undefined>;
  readonly onFault: (error: unknown) => void;
  /** Default a second. */
  readonly everyMs?: number;
}

/** Pushes to each receiver what waits for it, now and every second. A receiver that is slow or fails delays no other. */
export function pushStreams({ nextPush, onFault, everyMs = 1_000 }: PushStreams) {
  const pushAll = async (): Promise<void> => {
    while (!loop.isClosed()) {
      const push = await nextPush();
      if (push === undefined) return;
      // Not awaited. There are no more at once than streams: each is leased.
      push().catch((error: unknown) => {
        if (!loop.isClosed()) onFault(error);
      });
    }
  };
  const loop = repeat(pushAll, () => everyMs, onFault, "first");
  return { close: loop.close };
}
