import { createRequire } from "node:module";
import type * as OtlpOverHttp from "@opentelemetry/exporter-trace-otlp-http";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-node";
import type { Notice } from "./notice.ts";

/**
 * The `OTEL_*` settings by name (OpenTelemetry specification: Environment Variables). The exporter reads its headers,
 * timeout, compression and certificates from the process environment itself.
 */
export type TracingEnvironment = Readonly<Record<string, string | undefined>>;

const load = createRequire(import.meta.url);

const defaultQueueSize = 2048;

function ratioFrom(env: TracingEnvironment, notice: Notice): number {
  const text = env.OTEL_TRACES_SAMPLER_ARG;
  if (!text) return 1;
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return ratio;
  notice("a sampling ratio must lie between 0 and 1; 1 is used", ["OTEL_TRACES_SAMPLER_ARG"]);
  return 1;
}

/** Always on unless `OTEL_TRACES_SAMPLER` says otherwise: a caller's sampled flag decides nothing (contract: Telemetry). */
export function samplerFrom(env: TracingEnvironment, notice: Notice): Sampler {
  const parentBased = (root: Sampler) => new ParentBasedSampler({ root });
  switch (env.OTEL_TRACES_SAMPLER ?? "") {
    case "":
    case "always_on":
      return new AlwaysOnSampler();
    case "always_off":
      return new AlwaysOffSampler();
    case "traceidratio":
      return new TraceIdRatioBasedSampler(ratioFrom(env, notice));
    case "parentbased_always_on":
      return parentBased(new AlwaysOnSampler());
    case "parentbased_always_off":
      return parentBased(new AlwaysOffSampler());
    case "parentbased_traceidratio":
      return parentBased(new TraceIdRatioBasedSampler(ratioFrom(env, notice)));
    default:
      notice("a sampler is not known; every span is sampled", ["OTEL_TRACES_SAMPLER"]);
      return new AlwaysOnSampler();
  }
}

/** OTLP over HTTP with JSON bodies, or undefined where no endpoint is set. */
export function exporterFrom(env: TracingEnvironment, notice: Notice): SpanExporter | undefined {
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
  // Only here, since most of the SDK's files are the exporter's, and a start without one need not load them.
  const { OTLPTraceExporter }: typeof OtlpOverHttp = load("@opentelemetry/exporter-trace-otlp-http");
  return new OTLPTraceExporter({ url });
}

/** How many ended spans may wait for export: bounded whatever the collector does. */
export function queueSizeFrom(env: TracingEnvironment): number {
  const size = Number(env.OTEL_BSP_MAX_QUEUE_SIZE);
  return Number.isSafeInteger(size) && size > 0 ? size : defaultQueueSize;
}
