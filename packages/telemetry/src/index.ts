export {
  blockLogLevels,
  components,
  driftResults,
  type Emitter,
  emitters,
  type LogLevel,
  logFields,
  logLevels,
  type MetricSpec,
  metrics,
  pseudonymKinds,
  spanAttributes,
  spans,
  traceContextCauses,
} from "./contract.ts";
export type { SpanFacts } from "./contract-types.ts";
export { endedWorkers } from "./ended-workers.ts";
export { verdictFacts } from "./facts.ts";
export { createLogWriter, createNotice, type SpanIds } from "./logger.ts";
export { type Counts, createMetrics, type Metrics } from "./metrics.ts";
export { createIdentities, pseudonym } from "./pseudonym.ts";
export { claimMetricsFolder } from "./shared-folder.ts";
export {
  type App,
  createTelemetry,
  type Telemetry,
  type TelemetryConfig,
  type TelemetryEvent,
  type TelemetryIo,
  TelemetryKeyMissing,
} from "./telemetry.ts";
export { formatTraceparent, readTraceContext, type TraceHeaders } from "./trace-context.ts";
export { type Span, spanStart } from "./tracing.ts";
export type { TracingEnvironment } from "./tracing-environment.ts";
export type { Disclosed, ErrorType, Pseudonym } from "./value-kind.ts";
export { errorType } from "./value-kind.ts";
