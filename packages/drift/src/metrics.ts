import { type DriftReport, driftResults } from "./drift-report.ts";

/**
 * The `svc_drift_*` metrics of one run as Prometheus text, for a file that a node exporter reads
 * (docs/reference/telemetry.md#metrics). Written here rather than by the telemetry package, which would bring its
 * exporters into every process that only records edges; a test holds this text to that package's contract.
 */
export function driftMetrics({ result, summary }: Pick<DriftReport, "result" | "summary">): string {
  const runs = driftResults.map((each) => `svc_drift_runs_total{result="${each}"} ${each === result ? 1 : 0}`);
  return [
    ...family("svc_drift_runs_total", "counter", "Drift checks by result.", runs),
    ...gauge("svc_drift_undeclared_edges", "Recorded edges that no manifest declares.", summary.undeclared),
    ...gauge("svc_drift_unexercised_edges", "Declared edges that no run exercised.", summary.unexercised),
    ...gauge("svc_drift_lost_events", "Edge events missing from the traces.", summary.lostEvents),
    "",
  ].join("\n");
}

const family = (name: string, type: string, help: string, samples: readonly string[]): readonly string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
  ...samples,
];

const gauge = (name: string, help: string, value: number): readonly string[] =>
  family(name, "gauge", help, [`${name} ${value}`]);
