import type { Line, Plot } from "./plot.ts";
import { type Tables, tablesOf } from "./tables.ts";
import type { Measured } from "./targets.ts";

interface CurveDefinition {
  readonly file: string;
  readonly trial: string;
  readonly figure: string;
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  /** The subject's line and its position on it; undefined for a subject of no curve. */
  readonly place: (subject: string) => readonly [line: string, x: number] | undefined;
}

const hop = (subject: string) => ["hop", Number(subject)] as const;

const curves: readonly CurveDefinition[] = [
  {
    file: "connections.svg",
    trial: "by connections",
    figure: "rate",
    title: "Hops per second by connections",
    xTitle: "connections",
    yTitle: "hops per second",
    place: hop,
  },
  {
    file: "chains.svg",
    trial: "by chain",
    figure: "p50Ms",
    title: "One client's hop by the length of its chain",
    xTitle: "agents between the person and the tool",
    yTitle: "p50, ms",
    place: hop,
  },
  {
    file: "tools.svg",
    trial: "by agents and tools",
    figure: "p50Ms",
    title: "One client's hop by the tools of its scope",
    xTitle: "tools, in the hands of a hundredth as many agents",
    yTitle: "p50, ms",
    place: hop,
  },
  {
    file: "rows.svg",
    trial: "by rows",
    figure: "p50Ms",
    title: "Audit reads by records",
    xTitle: "records",
    yTitle: "p50, ms",
    place: (subject) => {
      const [, read, exponent] = /^(.+) on 10\^(\d+)$/.exec(subject) ?? [];
      return read === undefined ? undefined : [read, 10 ** Number(exponent)];
    },
  },
  {
    file: "bodies.svg",
    trial: "by body",
    figure: "p50Ms",
    title: "One call with a body",
    xTitle: "bytes",
    yTitle: "p50, ms",
    place: (subject) => {
      const [, line, count, unit] = /^(\w+) ([\d.]+) (KiB|MiB)$/.exec(subject) ?? [];
      return line === undefined ? undefined : [line, Number(count) * (unit === "KiB" ? 1024 : 1024 ** 2)];
    },
  },
];

/** A plot for each curve with two measured points, by file name. */
export function plotsOf(figures: Measured): ReadonlyMap<string, Plot> {
  const tables = tablesOf(figures);
  return new Map(
    curves.flatMap((curve) => {
      const lines = linesOf(curve, tables);
      const isCurve = lines.some(({ points }) => points.length > 1);
      return isCurve ? [[curve.file, { ...curve, lines }] as const] : [];
    }),
  );
}

function linesOf({ trial, figure, place }: CurveDefinition, tables: Tables): readonly Line[] {
  const lines = new Map<string, Line["points"][number][]>();
  for (const [subject, figures] of tables.get(trial) ?? []) {
    const [placed, summary] = [place(subject), figures.get(figure)];
    if (placed === undefined || summary === undefined) continue;
    const [line, x] = placed;
    const { median: y, least, most } = summary;
    lines.set(line, [...(lines.get(line) ?? []), { x, y, least, most }]);
  }
  return [...lines].map(([name, points]) => ({ name, points: points.toSorted((a, b) => a.x - b.x) }));
}
