import { aggregateTrace } from "./aggregate.ts";
import { readPolicies } from "./declared-policies.ts";
import { type DriftReport, exitCodeFor } from "./drift-report.ts";
import { judge } from "./gate.ts";
import { readManifestFiles } from "./manifest-files.ts";
import { driftMetrics } from "./metrics.ts";
import { type ReportFormat, writeReport } from "./report/formats.ts";

/** What a run of the gate reads, and how it reports. */
export interface DriftCheck {
  /** Trace files and folders. */
  readonly traces: readonly string[];
  /** Manifest files (JSON or YAML, the body of `POST /v1/manifests`) and folders of them. */
  readonly manifests: readonly string[];
  /** Default `text`. */
  readonly format?: ReportFormat;
}

/** What a run of the gate found, as text, exit code, metrics and report. */
export interface DriftCheckOutcome {
  /** The report, its last line break included. */
  readonly text: string;
  /** 0 pass, 1 drift, 2 error. */
  readonly exitCode: 0 | 1 | 2;
  /** The `svc_drift_*` metrics as Prometheus text. */
  readonly metrics: string;
  readonly report: DriftReport;
}

/** The gate as a command runs it: from files alone, and without throwing, since what cannot be read is its finding. */
export function runDriftCheck({ traces, manifests: paths, format = "text" }: DriftCheck): DriftCheckOutcome {
  const { manifests, errors } = readManifestFiles(paths);
  const reading = errors.length > 0 ? ({ ok: false, errors } as const) : readPolicies(manifests);
  const report = judge(aggregateTrace(traces), reading);
  return { text: writeReport(format, report), exitCode: exitCodeFor(report), metrics: driftMetrics(report), report };
}
