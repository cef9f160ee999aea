import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { MetricSpec } from "./contract.ts";

type Labels = Record<string, string>;
/** Adds, observes or sets, by the metric's type. Labels outside the closed set are not recorded. */
export type Family = (labels: Readonly<Record<string, unknown>>, value: number) => void;

/** From a decision in memory (0.1 ms) to the longest wait for an upstream's headers (30 s). */
const bucketsSeconds = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

/** Some counters are named without the suffix that their samples carry (docs/reference/telemetry.md#metrics). */
const familyName = (name: string, spec: MetricSpec): string =>
  spec.type === "counter" && !name.endsWith("_total") ? `${name}_total` : name;

interface FamilyConfig {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly registers: Registry[];
}

type ClosedLabels = readonly (readonly [label: string, values: ReadonlySet<string>])[];

const closedLabels = (spec: MetricSpec): ClosedLabels =>
  Object.entries(spec.labels).flatMap(([label, values]) => (values === "release" ? [] : [[label, new Set(values)]]));

const everySeries = (closed: ClosedLabels): Labels[] =>
  closed.reduce<Labels[]>(
    (series, [label, values]) =>
      series.flatMap((labels) => [...values].map((value) => ({ ...labels, [label]: value }))),
    [{}],
  );

function admitLabels(closed: ClosedLabels, given: Readonly<Record<string, unknown>>): Labels | undefined {
  const labels: Labels = {};
  for (const [label, values] of closed) {
    const value = given[label];
    if (typeof value !== "string" || !values.has(value)) return undefined;
    labels[label] = value;
  }
  return labels;
}

function counter(config: FamilyConfig, closed: ClosedLabels) {
  const metric = new Counter(config);
  for (const labels of everySeries(closed)) metric.inc(labels, 0);
  return (labels: Labels, by: number) => {
    if (by >= 0) metric.inc(labels, by);
  };
}

/**
 * In whole 2^-20 seconds: a floating-point sum of such values is exact, in any order. A sum over processes that were added
 * in another order before would otherwise fall by a rounding, which looks like a restart.
 */
const exactly = (seconds: number): number => Math.floor(seconds * 2 ** 20) / 2 ** 20;

function histogram(config: FamilyConfig, closed: ClosedLabels) {
  const metric = new Histogram({ ...config, buckets: bucketsSeconds });
  for (const labels of everySeries(closed)) metric.zero(labels);
  // A difference of two clock readings may round below zero, and a sum must not fall.
  return (labels: Labels, seconds: number) => metric.observe(labels, exactly(Math.max(0, seconds)));
}

/** An info gauge has one series: the labels that hold now. */
function gauge(config: FamilyConfig, closed: ClosedLabels, release: Labels) {
  const metric = new Gauge({ ...config, aggregator: "max" });
  if (closed.length === 0) return (_labels: Labels, value: number) => metric.set(value);
  return (labels: Labels, value: number) => {
    metric.reset();
    metric.set({ ...labels, ...release }, value);
  };
}

/** Registers one family of the contract, all its series at 0. `version` fills the `release` labels. */
export function createFamily(name: string, spec: MetricSpec, version: string, registry: Registry): Family {
  const closed = closedLabels(spec);
  const release = Object.fromEntries(
    Object.entries(spec.labels).flatMap(([label, values]) => (values === "release" ? [[label, version]] : [])),
  );
  const config: FamilyConfig = {
    name: familyName(name, spec),
    help: spec.help,
    labelNames: Object.keys(spec.labels),
    registers: [registry],
  };
  const record = { counter, histogram, gauge }[spec.type](config, closed, release);
  return (given, value) => {
    const labels = admitLabels(closed, given);
    if (labels !== undefined && Number.isFinite(value)) record(labels, value);
  };
}
