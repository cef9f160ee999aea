import { ROOT_CONTEXT, type Span as SdkSpan, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { defaultResource, type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import type { Emitter } from "./contract.ts";
import type { SpanFacts, SpanName } from "./contract-types.ts";
import { type Attributes, admitFacts, settleFacts } from "./facts.ts";
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

// The caller's tracestate stays out of the SDK, which would export it: callers may write anything into it.
const contextOf = (parent: RemoteParent | undefined) =>
  parent === undefined
    ? ROOT_CONTEXT
    : trace.setSpanContext(ROOT_CONTEXT, {
        traceId: parent.traceId,
        spanId: parent.spanId,
        traceFlags: parent.traceFlags,
        isRemote: true,
      });

/** Facts are gathered here and handed to the SDK at the end, when what they promise together can be upheld. */
function contractSpan(sdk: SdkSpan, tracestate: string | undefined, isExported: boolean, disclose: boolean): Span {
  const { traceId, spanId, traceFlags } = sdk.spanContext();
  const isRecording = isExported && sdk.isRecording();
  const attributes: Attributes = {};
  let isEnded = false;
  const set = (facts: SpanFacts) => {
    if (isRecording) admitFacts(attributes, facts, disclose);
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
      if (!isEnded) sdk.setStatus({ code: SpanStatusCode.ERROR });
    },
    end() {
      if (isEnded) return;
      isEnded = true;
      if (isRecording) sdk.setAttributes(settleFacts(attributes));
      sdk.end();
    },
  };
}

const spanKind = (name: SpanName) => (name === "verify.admit" ? SpanKind.INTERNAL : SpanKind.SERVER);

/** A tracer of its own: nothing is registered globally and nothing is instrumented by itself. */
export function createTracing<E extends Emitter>(options: TracingOptions): Tracing<E> {
  const { serviceName, version, env, disclose, notice, onDropped } = options;
  const exporter = exporterFrom(env, notice);
  const queue = exporter && queueSpans(exporter, { maxQueueSize: queueSizeFrom(env), onDropped });
  const provider = new NodeTracerProvider({
    resource: resourceOf(env.OTEL_SERVICE_NAME || serviceName, version),
    sampler: samplerFrom(env, notice),
    spanProcessors: queue ? [queue] : [],
  });
  const tracer = provider.getTracer("@svc/telemetry", version);

  return {
    startSpan(name, parent) {
      const sdk = tracer.startSpan(name, { kind: spanKind(name) }, contextOf(parent));
      return contractSpan(sdk, parent?.tracestate, queue !== undefined, disclose);
    },
    shutdown: async (withinMillis) => queue?.drain(withinMillis),
  };
}
