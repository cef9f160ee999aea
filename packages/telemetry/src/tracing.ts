import { randomUUID } from "node:crypto";
import { type SpanContext, SpanKind, TraceFlags } from "@opentelemetry/api";
import type { Resource } from "@opentelemetry/resources";
import type { Emitter } from "./contract.ts";
import type { SpanFacts, SpanName } from "./contract-types.ts";
import { admitFacts, noAttributes } from "./facts.ts";
import type { Notice } from "./logger.ts";
import { jsonSpanExporter } from "./otlp-json.ts";
import { queueSpans } from "./span-export.ts";
import { type SpanEnd, type SpanStart, spanJson } from "./span-json.ts";
import { formatTraceparent, type RemoteParent } from "./trace-context.ts";
import { endpointFrom, queueSizeFrom, samplerFrom, sdk, type TracingEnvironment } from "./tracing-environment.ts";
import { errorType } from "./value-kind.ts";

/** One span of the contract. Its ids serve logs and propagation even where nothing is exported. */
export interface Span extends RemoteParent {
  /** The headers for calls made under this span (W3C Trace Context). Baggage is not among them. */
  headers(): { readonly traceparent: string; readonly tracestate?: string };
  /** Adds facts; a later value replaces an earlier one. A function is called where the span is exported alone. */
  set(facts: SpanFacts | (() => SpanFacts)): void;
  /** Marks the span as failed with the error's class name. Neither its message nor its stack is recorded. */
  fail(error: unknown): void;
  /** Ends the span once; later calls are ignored. */
  end(): void;
}

export interface TracingOptions {
  readonly serviceName: string;
  readonly version: string;
  readonly env: TracingEnvironment;
  /** Whether plaintext identities may be exported. */
  readonly disclose: boolean;
  readonly notice: Notice;
  readonly onDropped: (spans: number) => void;
  /** Called at the first export that fails after one that did not. */
  readonly onOutage: (error: unknown) => void;
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

type OnEnd = (start: SpanStart, end: SpanEnd) => void;

/** When a span begins, which may be before its parent is known. */
export interface SpanMoment {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly monotonicMs: number;
}

export const spanStart = (): SpanMoment => ({ atMs: Date.now(), monotonicMs: performance.now() });

interface SpanOptions {
  readonly tracestate: string | undefined;
  readonly disclose: boolean;
  readonly started: SpanMoment;
  /** Undefined: not exported. */
  readonly onEnd: OnEnd | undefined;
}

/** Facts are collected until the end, when their rules as a whole are enforced. */
function contractSpan(start: SpanStart, { tracestate, disclose, started, onEnd }: SpanOptions): Span {
  const { traceId, spanId, traceFlags } = start.spanContext;
  const attributes = noAttributes();
  let hasFailed = false;
  let isEnded = false;
  const set: Span["set"] = (facts) => {
    if (onEnd && !isEnded) admitFacts(attributes, typeof facts === "function" ? facts() : facts, disclose);
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
      const durationMs = performance.now() - started.monotonicMs;
      onEnd?.(start, { startedAtMs: started.atMs, durationMs, attributes, hasFailed });
    },
  };
}

const spanKind = (name: SpanName) => (name === "verify.admit" ? SpanKind.INTERNAL : SpanKind.SERVER);

/**
 * Where finished spans are exported; undefined without an exporter. They are not made by the SDK's tracer: it copies and
 * checks every attribute again, and cuts them to the limits of `OTEL_*` variables, which could drop the reason of a deny.
 */
function sinkOf({ serviceName, version, env, notice, onDropped, onOutage }: TracingOptions) {
  const url = endpointFrom(env, notice);
  if (url === undefined) return undefined;
  const { attributes } = resourceOf(env.OTEL_SERVICE_NAME || serviceName, version);
  const exporter = jsonSpanExporter(url, { resource: attributes, scope: { name: "@svc/telemetry", version } });
  const queue = queueSpans(exporter, { maxQueueSize: queueSizeFrom(env), onDropped, onOutage });
  const take: OnEnd = (start, end) => queue.add(`,${spanJson(start, end)}`);
  return { take, drain: queue.drain };
}

/**
 * 32 and 16 hexadecimal digits, never all zero (W3C Trace Context sections 3.2.2.3 and 3.2.2.4). Of a UUID, since Node draws
 * those from randomness that it fetched beforehand, at a quarter of what asking for bytes costs.
 */
const newTraceId = (): string => {
  const uuid = randomUUID();
  return uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18) + uuid.slice(19, 23) + uuid.slice(24);
};
const newSpanId = (): string => {
  const uuid = randomUUID();
  return uuid.slice(19, 23) + uuid.slice(24);
};

/** Nothing is registered globally, nothing is instrumented automatically. */
export function createTracing<E extends Emitter>(options: TracingOptions) {
  const { env, disclose, notice } = options;
  const sink = sinkOf(options);
  const sampled = samplerFrom(env, notice);

  return {
    /** The root of a new trace, or a child of `remote`. */
    startSpan(name: SpanName<E>, remote?: RemoteParent, started = spanStart()): Span {
      const parent = remote && contextOf(remote);
      const traceId = parent?.traceId ?? newTraceId();
      const kind = spanKind(name);
      const isSampled = sampled({ name, kind, traceId, parent });
      const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
      const spanContext = { traceId, spanId: newSpanId(), traceFlags };
      const start = { name, kind, spanContext, parentSpanContext: parent };
      const onEnd = isSampled ? sink?.take : undefined;
      return contractSpan(start, { tracestate: remote?.tracestate, disclose, started, onEnd });
    },
    /** Exports what is queued; resolves after `withinMillis` at the latest. */
    shutdown: async (withinMillis: number) => sink?.drain(withinMillis),
  };
}
