import { setTimeout as delay } from "node:timers/promises";
import { TraceFlags } from "@opentelemetry/api";
import type { ExportResult } from "@opentelemetry/core";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace-node";
import type { JsonSpan, JsonSpanExporter } from "./otlp-json.ts";
import { type KeptText, spanBlocks } from "./span-blocks.ts";
import { sdk } from "./tracing-environment.ts";

export interface SpanQueueOptions {
  readonly maxQueueSize: number;
  /** Called with a number of spans lost; each span is counted once. */
  readonly onDropped: (spans: number) => void;
  /** Called at the first export that fails after one that did not. */
  readonly onOutage: (error: unknown) => void;
}

const sampled = { traceFlags: TraceFlags.SAMPLED };
const resource = {};

/** What the batch processor reads of a span, and its JSON. A class, so that little is kept of each: many wait. */
class QueuedSpan implements JsonSpan {
  readonly json: KeptText;
  constructor(json: KeptText) {
    this.json = json;
  }
  get resource() {
    return resource;
  }
  spanContext() {
    return sampled;
  }
}

const asReadable = (span: QueuedSpan) => span as unknown as ReadableSpan;
const queuedSpans = (spans: readonly ReadableSpan[]) => spans as unknown as readonly QueuedSpan[];

/** The SDK's batch processor, with its losses counted: it drops silently when its queue is full or an export fails. */
export function queueSpans(exporter: JsonSpanExporter, { maxQueueSize, onDropped, onOutage }: SpanQueueOptions) {
  const { ExportResultCode } = sdk.core();
  const { BatchSpanProcessor } = sdk.trace();
  const blocks = spanBlocks();
  let queued = 0;
  let inFlight = 0;
  let isOutage = false;
  let isClosed = false;
  let isAbandoned = false;
  let drained: Promise<void> | undefined;

  const settleOnce = (count: number, done: (result: ExportResult) => void) => {
    let isSettled = false;
    return (result: ExportResult) => {
      if (isSettled) return;
      isSettled = true;
      inFlight -= count;
      const hasFailed = result.code !== ExportResultCode.SUCCESS;
      if (hasFailed && !isAbandoned) onDropped(count);
      if (hasFailed && !isOutage) onOutage(result.error);
      isOutage = hasFailed;
      done(result);
    };
  };

  const counted: SpanExporter = {
    export(spans: ReadableSpan[], done) {
      queued -= spans.length;
      inFlight += spans.length;
      const settle = settleOnce(spans.length, done);
      try {
        exporter.export(queuedSpans(spans), settle);
      } catch (error) {
        settle({ code: ExportResultCode.FAILED, error: error as Error });
      } finally {
        for (const { json } of queuedSpans(spans)) blocks.release(json);
      }
    },
    shutdown: () => exporter.shutdown(),
  };
  const batches = new BatchSpanProcessor(counted, { maxQueueSize });

  const drainOnce = async (withinMillis: number) => {
    isClosed = true;
    const deadline = new AbortController();
    await Promise.race([batches.shutdown(), delay(withinMillis, undefined, { signal: deadline.signal })]).catch(
      () => {},
    );
    deadline.abort();
    isAbandoned = true;
    if (queued + inFlight > 0) onDropped(queued + inFlight);
  };

  return {
    /** @param json of a span, after a comma */
    add(json: string) {
      if (isClosed || queued >= maxQueueSize) return onDropped(1);
      queued += 1;
      batches.onEnd(asReadable(new QueuedSpan(blocks.keep(json))));
    },
    /** Sends what is queued and takes no more. Resolves after `withinMillis` at the latest; the rest counts as lost. */
    drain(withinMillis: number): Promise<void> {
      drained ??= drainOnce(withinMillis);
      return drained;
    },
  };
}
