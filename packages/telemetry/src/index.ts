export {
  admissionResults,
  blockLogLevels,
  type Component,
  chainQueryResults,
  components,
  driftResults,
  type Emitter,
  emitters,
  enrollmentStatuses,
  hopResults,
  type LogLevel,
  logFields,
  logLevels,
  type MetricSpec,
  metrics,
  mintResults,
  type PseudonymKind,
  pepModes,
  pepStages,
  pseudonymKinds,
  refusalStages,
  spanAttributes,
  spans,
  telemetrySignals,
  traceContextCauses,
  transactionRejectionCauses,
} from "./contract.ts";
export type {
  AttributeKey,
  CounterName,
  GaugeName,
  HistogramName,
  IdentityFacts,
  LabelsOf,
  LogFacts,
  MetricName,
  SpanFacts,
  SpanName,
  StaticText,
  VerdictFacts,
} from "./contract-types.ts";
export { verdictFacts } from "./facts.ts";
export {
  createLogger,
  createLogWriter,
  type Logger,
  type LogWriterOptions,
  type SpanIds,
  type WriteLog,
} from "./logger.ts";
export { type Counts, createMetrics, type Metrics, type Observations, type Rendered } from "./metrics.ts";
export { createNotice, type Notice } from "./notice.ts";
export { createIdentities, type Identities, pseudonym } from "./pseudonym.ts";
export {
  type App,
  createTelemetry,
  type Telemetry,
  type TelemetryConfig,
  type TelemetryEvent,
  type TelemetryIo,
  TelemetryKeyMissing,
  type TelemetryOptions,
} from "./telemetry.ts";
export {
  formatTraceparent,
  type InboundTraceContext,
  type RemoteParent,
  readTraceContext,
  type TraceHeaders,
} from "./trace-context.ts";
export type { Span } from "./tracing.ts";
export type { TracingEnvironment } from "./tracing-environment.ts";
export { type Disclosed, type ErrorType, errorType, type Pseudonym } from "./value-kind.ts";
