import { createRequire } from "node:module";
import { ROOT_CONTEXT, type SpanContext, type SpanKind, trace } from "@opentelemetry/api";
import type * as Core from "@opentelemetry/core";
import type * as Otlp from "@opentelemetry/otlp-exporter-base";
import type * as OtlpHttp from "@opentelemetry/otlp-exporter-base/node-http";
import type * as Resources from "@opentelemetry/resources";
import type * as Trace from "@opentelemetry/sdk-trace-node";
import type { Notice } from "./logger.ts";

const load = createRequire(import.meta.url);

/**
 * The parts of OpenTelemetry's SDK, each loaded at its first use: two hundred files that a process without an exporter
 * does not need. Synchronous, so that the first span is exported like any other.
 */
export const sdk = {
  core: (): typeof Core => load("@opentelemetry/core"),
  otlp: (): typeof Otlp => load("@opentelemetry/otlp-exporter-base"),
  otlpHttp: (): typeof OtlpHttp => load("@opentelemetry/otlp-exporter-base/node-http"),
  resources: (): typeof Resources => load("@opentelemetry/resources"),
  trace: (): typeof Trace => load("@opentelemetry/sdk-trace-node"),
} as const;

/** The `OTEL_*` settings. The exporter reads headers, timeout, compression and certificates from the process's own. */
export type TracingEnvironment = Readonly<Record<string, string | undefined>>;

const defaultQueueSize = 2048;

function ratioFrom(env: TracingEnvironment, notice: Notice): number {
  const text = env.OTEL_TRACES_SAMPLER_ARG;
  if (!text) return 1;
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return ratio;
  notice("a sampling ratio must lie between 0 and 1; 1 is used", ["OTEL_TRACES_SAMPLER_ARG"]);
  return 1;
}

/** What a sampler decides on. */
export interface SpanToSample {
  readonly name: string;
  readonly kind: SpanKind;
  readonly traceId: string;
  readonly parent: SpanContext | undefined;
}

/** Whether a span is recorded. */
export type IsSampled = (span: SpanToSample) => boolean;

function bySampler(sampler: Trace.Sampler): IsSampled {
  const { RECORD_AND_SAMPLED } = sdk.trace().SamplingDecision;
  return ({ name, kind, traceId, parent }) => {
    const around = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
    return sampler.shouldSample(around, traceId, name, kind, {}, []).decision === RECORD_AND_SAMPLED;
  };
}

/** Always on unless `OTEL_TRACES_SAMPLER` is set: a caller's sampled flag decides nothing (docs/reference/telemetry.md#trace-context). */
export function samplerFrom(env: TracingEnvironment, notice: Notice): IsSampled {
  const always = () => true;
  const byRatio = () => new (sdk.trace().TraceIdRatioBasedSampler)(ratioFrom(env, notice));
  const byParent = (root: Trace.Sampler) => bySampler(new (sdk.trace().ParentBasedSampler)({ root }));
  switch (env.OTEL_TRACES_SAMPLER ?? "") {
    case "":
    case "always_on":
      return always;
    case "always_off":
      return () => false;
    case "traceidratio":
      return bySampler(byRatio());
    case "parentbased_always_on":
      return byParent(new (sdk.trace().AlwaysOnSampler)());
    case "parentbased_always_off":
      return byParent(new (sdk.trace().AlwaysOffSampler)());
    case "parentbased_traceidratio":
      return byParent(byRatio());
    default:
      notice("a sampler is not known; every span is sampled", ["OTEL_TRACES_SAMPLER"]);
      return always;
  }
}

const offeredProtocol = "http/json";

/** Where spans go by OTLP over HTTP with JSON bodies; undefined where none is set, or export is off. */
export function endpointFrom(env: TracingEnvironment, notice: Notice): string | undefined {
  if (env.OTEL_SDK_DISABLED === "true" || env.OTEL_TRACES_EXPORTER === "none") return undefined;
  const own = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const shared = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const url = own || (shared ? `${shared.replace(/\/+$/, "")}/v1/traces` : "");
  if (url === "") return undefined;
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    notice("the trace endpoint is not an HTTP URL; no spans are exported", [
      own ? "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" : "OTEL_EXPORTER_OTLP_ENDPOINT",
    ]);
    return undefined;
  }
  const protocolSetting = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL
    ? "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
    : "OTEL_EXPORTER_OTLP_PROTOCOL";
  if ((env[protocolSetting] || offeredProtocol) !== offeredProtocol) {
    notice("spans are exported by http/json, whatever else is set: name an endpoint that takes it", [protocolSetting]);
  }
  return url;
}

/** How many ended spans may wait for export. */
export function queueSizeFrom(env: TracingEnvironment): number {
  const size = Number(env.OTEL_BSP_MAX_QUEUE_SIZE);
  return Number.isSafeInteger(size) && size > 0 ? size : defaultQueueSize;
}
