import { randomUUID } from "node:crypto";
import { type SpanContext, SpanKind, TraceFlags } from "@opentelemetry/api";
import type { Resource } from "@opentelemetry/resources";
import type { Emitter } from "./contract.ts";
import type { SpanFacts, SpanName } from "./contract-types.ts";
import { type Attributes, admitFacts, settleFacts } from "./facts.ts";
import { type SpanEnd, type SpanStart, spanFinisher } from "./finished-span.ts";
import type { Notice } from "./notice.ts";
import { sdk } from "./sdk.ts";
import { queueSpans } from "./span-export.ts";
import { formatTraceparent, type RemoteParent } from "./trace-context.ts";
import { exporterFrom, queueSizeFrom, samplerFrom, type TracingEnvironment } from "./tracing-environment.ts";
import { errorType } from "./value-kind.ts";

/** One span of the contract. Its ids serve logs and propagation even where nothing is exported. */
export interface Span extends RemoteParent {
  /** The headers for calls made under this span (W3C Trace Context). Baggage is not among them. */
  headers(): { readonly traceparent: string; readonly tracestate?: string };
  /** Adds facts; a later value replaces an earlier one. */
  set(facts: SpanFacts): void;
  /** Marks the span as failed with the error's class name. Neither its message nor its stack is recorded. */
  fail(error: unknown): void;
  /** Ends the span once; later calls are ignored. */
  end(): void;
}

export interface Tracing<E extends Emitter> {
  /** The root of a new trace, or a child of `parent`. */
  startSpan(name: SpanName<E>, parent?: RemoteParent): Span;
  /** Exports what is queued; resolves after `withinMillis` at the latest. */
  shutdown(withinMillis: number): Promise<void>;
}

export interface TracingOptions {
  readonly serviceName: string;
  readonly version: string;
  readonly env: TracingEnvironment;
  /** Whether plaintext identities may be exported. */
  readonly disclose: boolean;
  readonly notice: Notice;
  readonly onDropped: (spans: number) => void;
}

/** `service.name`, `service.version` and the SDK's `telemetry.*`, no more: nothing of host, process or environment. */
function resourceOf(serviceName: string, version: string): Resource {
  const { defaultResource, resourceFromAttributes } = sdk.resources();
  return defaultResource().merge(resourceFromAttributes({ "service.name": serviceName, "service.version": version }));
}

// Without the caller's tracestate: it would be exported, and may hold anything.
const contextOf = ({ traceId, spanId, traceFlags }: RemoteParent): SpanContext => ({
  traceId,
  spanId,
  traceFlags,
  isRemote: true,
});

interface SpanOptions extends Omit<SpanStart, "startedAtMs"> {
  readonly tracestate: string | undefined;
  readonly disclose: boolean;
  /** Takes the span when it is over; absent where it is not exported. */
  readonly onEnd: ((start: SpanStart, end: SpanEnd) => void) | undefined;
}

/** Facts are collected until the end, when their rules as a whole can be enforced. */
function contractSpan({ tracestate, disclose, onEnd, ...identity }: SpanOptions): Span {
  const { traceId, spanId, traceFlags } = identity.spanContext;
  const startedAtMs = Date.now();
  // Durations by the monotonic clock.
  const startedMs = performance.now();
  const attributes: Attributes = {};
  let hasFailed = false;
  let isEnded = false;
  const set = (facts: SpanFacts) => {
    if (onEnd && !isEnded) admitFacts(attributes, facts, disclose);
  };
  return {
    traceId,
    spanId,
    traceFlags,
    tracestate,
    headers() {
      const traceparent = formatTraceparent({ traceId, spanId, traceFlags });
      return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
    },
    set,
    fail(error) {
      set({ "error.type": errorType(error) });
      hasFailed ||= !isEnded;
    },
    end() {
      if (isEnded) return;
      isEnded = true;
      const durationMs = performance.now() - startedMs;
      onEnd?.({ ...identity, startedAtMs }, { durationMs, attributes: settleFacts(attributes), hasFailed });
    },
  };
}

const spanKind = (name: SpanName) => (name === "verify.admit" ? SpanKind.INTERNAL : SpanKind.SERVER);

interface SpanSink {
  take(start: SpanStart, end: SpanEnd): void;
  drain(withinMillis: number): Promise<void>;
}

/** Where finished spans are exported; undefined without an exporter. */
function sinkOf({ serviceName, version, env, notice, onDropped }: TracingOptions): SpanSink | undefined {
  const exporter = exporterFrom(env, notice);
  if (exporter === undefined) return undefined;
  const queue = queueSpans(exporter, { maxQueueSize: queueSizeFrom(env), onDropped });
  const finished = spanFinisher({
    resource: resourceOf(env.OTEL_SERVICE_NAME || serviceName, version),
    instrumentationScope: { name: "@svc/telemetry", version },
  });
  return { take: (start, end) => queue.onEnd(finished(start, end)), drain: queue.drain };
}

/**
 * 32 and 16 hexadecimal digits, never all zero (W3C Trace Context sections 3.2.2.3 and 3.2.2.4). Of a UUID, since Node draws
 * those from randomness that it fetched beforehand, at a quarter of what asking for bytes costs.
 */
const newTraceId = (): string => randomUUID().replaceAll("-", "");
const newSpanId = (): string => newTraceId().slice(16);

/** Nothing is registered globally, nothing is instrumented automatically. */
export function createTracing<E extends Emitter>(options: TracingOptions): Tracing<E> {
  const { env, disclose, notice } = options;
  const sink = sinkOf(options);
  const sampled = samplerFrom(env, notice);

  return {
    startSpan(name, remote) {
      const parent = remote && contextOf(remote);
      const traceId = parent?.traceId ?? newTraceId();
      const kind = spanKind(name);
      const isSampled = sampled({ name, kind, traceId, parent });
      const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
      return contractSpan({
        name,
        kind,
        spanContext: { traceId, spanId: newSpanId(), traceFlags },
        parentSpanContext: parent,
        tracestate: remote?.tracestate,
        disclose,
        onEnd: isSampled ? sink?.take : undefined,
      });
    },
    shutdown: async (withinMillis) => sink?.drain(withinMillis),
  };
}
