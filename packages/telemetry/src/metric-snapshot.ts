/**
 * One process's metrics in the shared directory: prom-client's `getMetricsAsJSON()`. Only families and series of this
 * build are read back, so that a half-written or foreign file adds nothing.
 */
import type { Registry } from "prom-client";

interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

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

/** Every family of the registry with its series at 0. */
export async function templateOf(registry: Registry): Promise<FamilySnapshot[]> {
  const families = (await registry.getMetricsAsJSON()) as unknown as FamilySnapshot[];
  return families.map((family) => ({ ...family, values: family.values.map((sample) => ({ ...sample, value: 0 })) }));
}

/** Undefined for anything but a snapshot; otherwise the template's families with the samples that belong to them. */
export function parseSnapshot(text: string, template: readonly FamilySnapshot[]): FamilySnapshot[] | undefined {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(found)) return undefined;
  const valuesByName = new Map(found.filter(isRecord).map(({ name, values }) => [name, values]));
  return template.map((family) => {
    const series = new Set(family.values.map(seriesKey));
    const values = valuesByName.get(family.name);
    const samples = Array.isArray(values) ? values.filter(isSample) : [];
    return { ...family, values: samples.filter((sample) => series.has(seriesKey(sample))) };
  });
}
