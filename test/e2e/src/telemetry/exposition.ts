/** A parsed scrape (Prometheus text format 0.0.4). */
export interface Scrape {
  readonly text: string;
  /** Family name to its declared type. */
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Name and labels as written: the series' identity. */
  readonly series: string;
}

const sampleLine = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const labelPair = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/gy;

export function readScrape(text: string): Scrape {
  const lines = text.split("\n").filter((line) => line !== "");
  const types = lines.flatMap((line) => {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    return name === undefined || type === undefined ? [] : [[name, type] as const];
  });
  return { text, types: new Map(types), samples: lines.filter((line) => !line.startsWith("#")).map(readSample) };
}

function readSample(line: string): Sample {
  const [, name, labels = "", value] = sampleLine.exec(line) ?? [];
  if (name === undefined) throw new Error(`no sample: ${line}`);
  const pairs = [...labels.matchAll(labelPair)];
  if (pairs.map(([pair]) => pair).join("") !== labels) throw new Error(`no labels: ${line}`);
  return {
    name,
    labels: Object.fromEntries(pairs.map(([, label, text]) => [label, text])),
    value: Number(value),
    series: line.slice(0, line.lastIndexOf(" ")),
  };
}

/** The sum over a family's samples with these labels. */
export const total = ({ samples }: Scrape, name: string, labels: Readonly<Record<string, string>> = {}): number =>
  samples
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);

/** Counters and histogram counts: the series that must not decrease. */
export const rising = ({ types, samples }: Scrape): Sample[] =>
  samples.filter(({ name }) => {
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "");
    return types.get(family) !== "gauge";
  });
