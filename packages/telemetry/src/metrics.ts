import { Registry } from "prom-client";
import { type Emitter, type MetricSpec, metrics as metricTable } from "./contract.ts";
import type { CounterName, GaugeName, HistogramName, IsPlain, LabelsOf, LabelValueOf } from "./contract-types.ts";
import { createFamily, type Family } from "./metric-family.ts";

/** A plain counter takes `(by?)`, one with labels `(labels, by?)`. */
type IncArguments<N extends CounterName> = IsPlain<N> extends true ? [by?: number] : [labels: LabelsOf<N>, by?: number];
/** A plain histogram takes `(seconds)`, one with labels `(labels, seconds)`. */
type ObserveArguments<N extends HistogramName> =
  IsPlain<N> extends true ? [seconds: number] : [labels: LabelsOf<N>, seconds: number];
/** A number; for an info gauge the labels of its one series, whose value is 1. */
type GaugeValue<N extends GaugeName> = IsPlain<N> extends true ? number : LabelsOf<N>;

/** Several counters at once: an amount for a plain one, the labels for one with labels (by 1). */
export type Counts<E extends Emitter> = {
  readonly [N in CounterName<E>]?: (IsPlain<N> extends true ? number : LabelsOf<N>) | undefined;
};
/** Several histograms at once, in seconds; for one with a label, seconds by label value. */
export type Observations<E extends Emitter> = {
  readonly [N in HistogramName<E>]?:
    | (IsPlain<N> extends true ? number : { readonly [V in LabelValueOf<N>]?: number | undefined })
    | undefined;
};

export interface Rendered {
  readonly contentType: string;
  readonly body: string;
}

/**
 * The metric families of one emitter. Every series of a closed label set is 0 from the start, so their number never
 * grows. What is not in the contract is not recorded: telemetry never fails a call.
 */
export interface Metrics<E extends Emitter> {
  inc<N extends CounterName<E>>(name: N, ...args: IncArguments<N>): void;
  observe<N extends HistogramName<E>>(name: N, ...args: ObserveArguments<N>): void;
  set<N extends GaugeName<E>>(name: N, value: GaugeValue<N>): void;
  incEach(counts: Counts<E>): void;
  observeEach(observations: Observations<E>): void;
  /** Prometheus text format 0.0.4. */
  render(): Promise<Rendered>;
  /** What `shareMetrics` merges across processes. */
  readonly registry: Registry;
}

const isLabels = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const specs: Readonly<Record<string, MetricSpec>> = metricTable;
const labelsOf = (name: string) => specs[name]?.labels ?? {};

/** `version` is the value of `release` labels: the running build's. */
export function createMetrics<E extends Emitter>(emitter: E, version: string): Metrics<E> {
  const registry = new Registry();
  const families = new Map<string, Family>();
  for (const [name, spec] of Object.entries(specs)) {
    if (spec.emittedBy.includes(emitter)) families.set(name, createFamily(name, spec, version, registry));
  }

  const record = (name: string, first: unknown = 1, second: unknown = 1): void => {
    const family = families.get(name);
    if (isLabels(first)) family?.(first, Number(second));
    else family?.({}, Number(first));
  };

  const observeByLabel = (name: string, secondsByValue: Readonly<Record<string, number | undefined>>): void => {
    const [label = ""] = Object.keys(labelsOf(name));
    for (const [value, seconds] of Object.entries(secondsByValue)) {
      if (seconds !== undefined) record(name, { [label]: value }, seconds);
    }
  };

  return {
    inc: record,
    observe: record,
    set: record,
    incEach(counts) {
      for (const [name, what] of Object.entries(counts)) if (what !== undefined) record(name, what);
    },
    observeEach(observations) {
      for (const [name, what] of Object.entries(observations)) {
        if (isLabels(what)) observeByLabel(name, what as Readonly<Record<string, number | undefined>>);
        else if (what !== undefined) record(name, what);
      }
    },
    render: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
    registry,
  };
}
