export {
  aggregateTrace,
  type EdgeTrace,
  type TracedEdge,
  type TraceFault,
  type TraceFaultKind,
  traceFaultKinds,
} from "./aggregate.ts";
export type { DriftManifest } from "./declared-policies.ts";
export {
  type DriftError,
  type DriftErrorKind,
  type DriftReport,
  type DriftResult,
  type DriftSummary,
  driftErrorKinds,
  driftResults,
  exitCodeFor,
  type ScopedEdge,
  type UndeclaredEdge,
  type UnexercisedEdge,
} from "./drift-report.ts";
export { type Edge, type EdgeOutcome, edgeOutcomes } from "./edge.ts";
export type { ExpectedDenial } from "./expected-denials.ts";
export { checkDrift, type DriftExpectations } from "./gate.ts";
export { type TraceRecorder, type TraceRecorderOptions, traceEnv, traceRecorder } from "./recorder.ts";
export { type ReportFormat, reportFormats, writeReport } from "./report/formats.ts";
export { type DriftCheck, type DriftCheckOutcome, driftMetrics, runDriftCheck } from "./run-drift-check.ts";
