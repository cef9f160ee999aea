import type { Registry } from "prom-client";

interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** A metric family of one process, as its registry describes it. */
export interface FamilySnapshot {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  readonly values: readonly Sample[];
}

const seriesKey = ({ metricName = "", labels }: Sample): string =>
  JSON.stringify([metricName, Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))]);

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

const isSample = (value: unknown): value is Sample =>
  isRecord(value) && isRecord(value.labels) && typeof value.value === "number" && value.value >= 0;

export const withoutGauges = (families: readonly FamilySnapshot[]): readonly FamilySnapshot[] =>
  families.filter(({ type }) => type !== "gauge");

/** Every family of the registry with its series at 0. */
export async function templateOf(registry: Registry): Promise<readonly FamilySnapshot[]> {
  const families = (await registry.getMetricsAsJSON()) as unknown as FamilySnapshot[];
  return families.map((family) => ({ ...family, values: family.values.map((sample) => ({ ...sample, value: 0 })) }));
}

/** The samples of families and series of this build, so that foreign files add nothing; undefined for no snapshot. */
export function admitted(found: unknown, template: readonly FamilySnapshot[]): readonly FamilySnapshot[] | undefined {
  if (!Array.isArray(found)) return undefined;
  const valuesByName = new Map(found.filter(isRecord).map(({ name, values }) => [name, values]));
  return template.map((family) => {
    const series = new Set(family.values.map(seriesKey));
    const values = valuesByName.get(family.name);
    const samples = Array.isArray(values) ? values.filter(isSample) : [];
    return { ...family, values: samples.filter((sample) => series.has(seriesKey(sample))) };
  });
}

/** Sums by family and series. */
export type Totals = ReadonlyMap<string, { readonly type: string; readonly series: ReadonlyMap<string, Sample> }>;

/** The totals with what a process counted; its gauges, and what is no family, add nothing. Undefined for no snapshot. */
export function addedTo(totals: Totals, found: unknown): Totals | undefined {
  if (!Array.isArray(found)) return undefined;
  const sums = new Map(totals);
  for (const { name, type, values } of found.filter(isRecord)) {
    if (typeof name !== "string" || typeof type !== "string" || type === "gauge" || !Array.isArray(values)) continue;
    const series = new Map(sums.get(name)?.series);
    for (const sample of values.filter(isSample)) {
      const key = seriesKey(sample);
      series.set(key, { ...sample, value: sample.value + (series.get(key)?.value ?? 0) });
    }
    sums.set(name, { type, series });
  }
  return sums;
}

export const familiesOf = (totals: Totals): readonly Pick<FamilySnapshot, "name" | "type" | "values">[] =>
  [...totals].map(([name, { type, series }]) => ({ name, type, values: [...series.values()] }));
