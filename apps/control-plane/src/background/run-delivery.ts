import type { SinkClaim, Sinks } from "../ports/sinks.ts";
import { deliverBatch } from "./delivery/deliver-batch.ts";
import { type Message, post } from "./delivery/post.ts";
import type { Receiver } from "./delivery/receiver.ts";
import { repeat } from "./repeat.ts";

interface RunDelivery {
  readonly sinks: Sinks;
  readonly receiver: Receiver;
  /** The first failure after a delivery, and the first fault of the database after a run that succeeded. */
  readonly onFault: (error: unknown) => void;
  readonly fetch?: typeof globalThis.fetch;
  /** Between two looks for new batches. Default 2 seconds. */
  readonly everyMs?: number;
  /** For one message. Less than a claim lasts. Default 10 seconds. */
  readonly deadlineMs?: number;
  readonly pauseMs?: (failures: number) => number;
  readonly maxItems?: number;
}

/** A receiver does not take what it is sent. Nothing is skipped: the same rows are sent until it does. */
export class SinkFailed extends Error {
  override readonly name = "SinkFailed";
}

/** Delivers the sealed record to one receiver, at least once and in order, from any one process at a time. */
export function runDelivery({ sinks, receiver, onFault, ...settings }: RunDelivery) {
  const { fetch = globalThis.fetch, everyMs = 2_000, deadlineMs = 10_000, maxItems = 200 } = settings;
  const { pauseMs = backoffMs } = settings;
  const { sink, url } = receiver;
  const closing = new AbortController();
  const limit = { items: maxItems };
  const delivering = {
    ...{ sinks, receiver, limit },
    post: (message: Message) => post(url, message, { fetch, deadlineMs, closed: closing.signal }),
  };
  let isRegistered = false;
  const fail = async ({ failures }: SinkClaim, fault: string, retryAfterMs: number): Promise<void> => {
    if (failures === 0) onFault(new SinkFailed(`the sink ${sink}: ${fault}`));
    await sinks.failed(sink, fault, Math.max(pauseMs(failures), retryAfterMs));
  };
  /** Whether there may be more. */
  const deliverNext = async (): Promise<boolean> => {
    const claim = await sinks.claim(sink);
    const next = claim && (await sinks.read(claim));
    if (claim === undefined || next === undefined) return false;
    const delivered = await deliverBatch(delivering, claim, next);
    if (delivered.kind === "failed" && !closing.signal.aborted) {
      await fail(claim, delivered.fault, delivered.retryAfterMs);
    }
    return delivered.kind === "delivered";
  };
  const run = async (): Promise<void> => {
    if (!isRegistered) await sinks.register(sink);
    isRegistered = true;
    while (!closing.signal.aborted && (await deliverNext()));
  };
  let running: Promise<void> = Promise.resolve();
  const loop = repeat(
    () => {
      running = run();
      return running;
    },
    () => everyMs,
    onFault,
    "first",
  );
  return {
    /** Ends what is being sent, and lets another process continue at once. */
    async close(): Promise<void> {
      loop.close();
      closing.abort();
      await running.catch(() => {});
      await sinks.release(sink).catch(() => {});
    },
  };
}

/** From a second to a minute, each time another, so that several senders do not come at once. */
const backoffMs = (failures: number): number =>
  Math.min(60_000, 1_000 * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2);
