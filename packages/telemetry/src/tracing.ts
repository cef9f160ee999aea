import { ROOT_CONTEXT, type SpanContext, SpanKind, TraceFlags, trace } from "@opentelemetry/api";
import { defaultResource, type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import { RandomIdGenerator, SamplingDecision } from "@opentelemetry/sdk-trace-node";
import type { Emitter } from "./contract.ts";
import type { SpanFacts, SpanName } from "./contract-types.ts";
import { type Attributes, admitFacts, settleFacts } from "./facts.ts";
import { finishedSpan, type SpanEnd, type SpanStart } from "./finished-span.ts";
import type { Notice } from "./notice.ts";
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
  /** Ends the span once; whatever follows is ignored. */
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
  return defaultResource().merge(resourceFromAttributes({ "service.name": serviceName, "service.version": version }));
}

// The caller's tracestate is not part of it, since it would be exported: callers may write anything into it.
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

/** Facts are gathered until the end, when what they promise together can be upheld. */
function contractSpan({ tracestate, disclose, onEnd, ...identity }: SpanOptions): Span {
  const { traceId, spanId, traceFlags } = identity.spanContext;
  const startedAtMs = Date.now();
  // Durations by the clock that nobody sets.
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

/** Nothing is registered globally and nothing is instrumented by itself. */
export function createTracing<E extends Emitter>(options: TracingOptions): Tracing<E> {
  const { serviceName, version, env, disclose, notice, onDropped } = options;
  const exporter = exporterFrom(env, notice);
  const queue = exporter && queueSpans(exporter, { maxQueueSize: queueSizeFrom(env), onDropped });
  const sampler = samplerFrom(env, notice);
  const ids = new RandomIdGenerator();
  const origin = {
    resource: resourceOf(env.OTEL_SERVICE_NAME || serviceName, version),
    instrumentationScope: { name: "@svc/telemetry", version },
  };
  const exportSpan = queue && ((start: SpanStart, end: SpanEnd) => queue.onEnd(finishedSpan(start, end, origin)));

  return {
    startSpan(name, parent) {
      const parentSpanContext = parent && contextOf(parent);
      const around = parentSpanContext ? trace.setSpanContext(ROOT_CONTEXT, parentSpanContext) : ROOT_CONTEXT;
      const traceId = parent?.traceId ?? ids.generateTraceId();
      const kind = spanKind(name);
      const { decision } = sampler.shouldSample(around, traceId, name, kind, {}, []);
      const isSampled = decision === SamplingDecision.RECORD_AND_SAMPLED;
      const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
      return contractSpan({
        name,
        kind,
        spanContext: { traceId, spanId: ids.generateSpanId(), traceFlags },
        parentSpanContext,
        tracestate: parent?.tracestate,
        disclose,
        onEnd: isSampled ? exportSpan : undefined,
      });
    },
    shutdown: async (withinMillis) => queue?.drain(withinMillis),
  };
}
