import { readFileSync } from "node:fs";
import { octalFault } from "@svc/core";
import { parseDocument, visit } from "yaml";
import { z } from "zod";
import { aggregateTrace } from "./aggregate.ts";
import { type DriftManifest, readPolicies } from "./declared-policies.ts";
import { type DriftError, type DriftReport, driftResults, exitCodeFor } from "./drift-report.ts";
import { type ExpectedDenial, expectedDenialList } from "./expected-denials.ts";
import { judge } from "./gate.ts";
import { type ReportFormat, writeReport } from "./report/formats.ts";
import { filesOf } from "./trace-files.ts";

/** What a run of the gate reads, and how it reports. */
export interface DriftCheck {
  /** Trace files and folders. */
  readonly traces: readonly string[];
  /** Manifest files (JSON or YAML, the body of `POST /v1/manifests`) and folders of them. */
  readonly manifests: readonly string[];
  /** Default `text`. */
  readonly format?: ReportFormat;
  /** Files (JSON or YAML) with calls whose deny a test expects (docs/reference/drift.md#expected-denials). */
  readonly expectedDenials?: readonly string[] | undefined;
  /** Of edges that were recorded without a scope, and whose chain no recorded delegation made. */
  readonly scope?: string | undefined;
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
export function runDriftCheck(check: DriftCheck): DriftCheckOutcome {
  const { traces, format = "text", scope } = check;
  const { manifests, errors: manifestErrors } = readManifestFiles(check.manifests);
  const { expectedDenials, errors: expectedErrors } = readExpectedDenials(check.expectedDenials ?? []);
  const errors = [...manifestErrors, ...expectedErrors];
  const reading = errors.length > 0 ? ({ ok: false, errors } as const) : readPolicies(manifests);
  const report = judge(aggregateTrace(traces), reading, { expectedDenials, scope });
  return { text: writeReport(format, report), exitCode: exitCodeFor(report), metrics: driftMetrics(report), report };
}

/** The body of `POST /v1/manifests`. The manifest itself is validated when it is compiled. */
const submission = z.strictObject({ agent: z.string(), manifest: z.unknown(), override: z.unknown().optional() });

const isManifestFile = (file: string): boolean => /\.(json|ya?ml)$/i.test(file);

/** Reads manifest files, and all `.json`, `.yaml` and `.yml` files of folders. */
function readManifestFiles(paths: readonly string[]): {
  readonly manifests: readonly DriftManifest[];
  readonly errors: readonly DriftError[];
} {
  const manifests: DriftManifest[] = [];
  const errors: DriftError[] = [];
  const refuse = (file: string, message: string) => errors.push({ kind: "manifest_unreadable", message, file });

  if (paths.length === 0) errors.push({ kind: "manifest_unreadable", message: "no manifest was named" });
  for (const path of new Set(paths)) {
    const files = filesBehind(path);
    if (files === undefined) refuse(path, "there is no such file or folder, or it cannot be read");
    else if (files.length === 0) refuse(path, "no .json, .yaml or .yml file is in this folder");
    for (const file of files ?? []) {
      const read = readManifestFile(file);
      if (typeof read === "string") refuse(file, read);
      else manifests.push({ ...read, file });
    }
  }
  return { manifests, errors };
}

function filesBehind(path: string): readonly string[] | undefined {
  try {
    const files = filesOf(path);
    // A file given by its own path may have any name.
    return files[0] === path ? files : files.filter(isManifestFile);
  } catch {
    return undefined;
  }
}

/** The manifest, or why there is none. */
function readManifestFile(file: string): Omit<DriftManifest, "file"> | string {
  const read = readStructured(file);
  if (!read.ok) return read.fault;
  const { data } = submission.safeParse(read.value);
  return data ?? 'it is not {"agent": ..., "manifest": {...}}, the body of POST /v1/manifests';
}

type Structured = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly fault: string };

/** The content of a JSON or YAML file. */
function readStructured(file: string): Structured {
  try {
    const text = readFileSync(file, "utf8");
    return /\.ya?ml$/i.test(file) ? readYaml(text) : { ok: true, value: JSON.parse(text) };
  } catch {
    return notStructured;
  }
}

const notStructured: Structured = { ok: false, fault: "it cannot be read as JSON or YAML" };

function readYaml(text: string): Structured {
  const document = parseDocument(text);
  if (document.errors.length > 0) return notStructured;
  let fault: string | undefined;
  visit(document, {
    Scalar(_key, scalar) {
      fault ??= octalFault(scalar);
    },
  });
  return fault === undefined ? { ok: true, value: document.toJS() } : { ok: false, fault };
}

function readExpectedDenials(files: readonly string[]): {
  readonly expectedDenials: readonly ExpectedDenial[];
  readonly errors: readonly DriftError[];
} {
  const expectedDenials: ExpectedDenial[] = [];
  const errors: DriftError[] = [];
  for (const file of new Set(files)) {
    const read = readStructured(file);
    const denials = read.ok ? toExpectedDenials(read.value) : read.fault;
    if (typeof denials === "string") errors.push({ kind: "expected_denials_unreadable", message: denials, file });
    else expectedDenials.push(...denials.map((one) => ({ ...one, file })));
  }
  return { expectedDenials, errors };
}

/** The list, or why there is none. */
function toExpectedDenials(value: unknown): readonly ExpectedDenial[] | string {
  const { data, error } = expectedDenialList.safeParse(value);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  return `it is not a list of {scope, caller, target, data_class?, reason?}: ${issue?.path.join(".")}: ${issue?.message}`;
}

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
