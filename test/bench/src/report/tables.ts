import type { Summary } from "../measure/statistics.ts";
import { foreignFigure, percent } from "../measure/trial.ts";
import type { ComparisonResult, Measured, TargetResult } from "./targets.ts";

/** Figures in a table's columns, in this order. The history has the others too. */
const columns: readonly (readonly [figure: string, title: string])[] = [
  ["rate", "per second"],
  ["p50Ms", "p50 ms"],
  ["p99Ms", "p99 ms"],
  ["MB per s", "MB/s"],
  ["extra MiB", "extra MiB"],
  ["readyMs", "ready ms"],
  ["MiB", "MiB"],
  ["KiB", "KiB"],
  ["shedShare", "shed"],
  ["failed", "failed"],
  ["cpu us", "CPU us"],
  ["cpu load us", "generator us"],
];

/** `trial/subject/figure`; only a subject may contain a slash. */
function splitKey(key: string): readonly [trial: string, subject: string, figure: string] {
  const [first, last] = [key.indexOf("/"), key.lastIndexOf("/")];
  return [key.slice(0, first), key.slice(first + 1, last), key.slice(last + 1)];
}

export type Tables = ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, Summary>>>;

export function tablesOf(figures: Measured): Tables {
  const trials = new Map<string, Map<string, Map<string, Summary>>>();
  for (const [key, summary] of figures) {
    const [trial, subject, figure] = splitKey(key);
    const subjects = trials.get(trial) ?? new Map<string, Map<string, Summary>>();
    const of = subjects.get(subject) ?? new Map<string, Summary>();
    trials.set(trial, subjects.set(subject, of.set(figure, summary)));
  }
  return trials;
}

/** One Markdown table per trial: medians with their spread, and the others' share of the machine. */
export function writeTables(figures: Measured): string {
  return [...tablesOf(figures)].map(([trial, subjects]) => `## ${trial}\n\n${writeTable(subjects)}`).join("\n\n");
}

function writeTable(subjects: ReadonlyMap<string, ReadonlyMap<string, Summary>>): string {
  const shown = columns.filter(([figure]) => [...subjects.values()].some((figures) => figures.has(figure)));
  const head = ["", ...shown.map(([, title]) => title), "clean", "others"];
  const rows = [...subjects].map(([subject, figures]) => {
    const cells = shown.map(([figure]) => writeCell(figures.get(figure)));
    const foreign = figures.get(foreignFigure);
    const clean = foreign === undefined ? "" : `${foreign.clean}/${foreign.samples}`;
    return [subject, ...cells, clean, foreign === undefined ? "" : percent(foreign.most)];
  });
  return markdown([head, ...rows]);
}

const writeCell = (summary: Summary | undefined): string =>
  summary === undefined ? "" : `${short(summary.median)} (${short(summary.least)}-${short(summary.most)})`;

/** Processor time of each process for one hop, beside its latency: both share the same cores. */
export function writeCpu(figures: Measured): string {
  const rows: string[][] = [];
  for (const [trial, subjects] of tablesOf(figures)) {
    for (const [subject, of] of subjects) {
      const spent = [...of].filter(([figure]) => /^cpu .+ us$/.test(figure));
      if (spent.length < 2) continue;
      const each = spent.map(([figure, { median }]) => `${figure.slice(4, -3)} ${median.toFixed(0)}`);
      rows.push([`${trial}: ${subject}`, each.join(", ")]);
    }
  }
  return rows.length === 0 ? "" : `## Processor time, us for one\n\n${markdown([["", "by process"], ...rows])}`;
}

export function writeTargets(results: readonly TargetResult[]): string {
  const rows = results.flatMap(({ id, name, comparisons }) =>
    comparisons.map((one, index) => [
      index === 0 ? String(id) : "",
      comparisons.length === 1 ? name : `${index === 0 ? `${name}: ` : ""}${one.of}`,
      one.ratio === null ? "not measured" : short(one.ratio),
      `${one.isAtMost ? "at most" : "at least"} ${short(one.target)}`,
      verdictOf(one),
      one.ceiling === null ? "" : `${short(one.ceiling)}${one.isCeilingClean ? "" : ", disturbed"}`,
    ]),
  );
  return `## Targets\n\n${markdown([["", "ratio", "measured", "target", "", "what a skeleton reaches"], ...rows])}`;
}

const verdictOf = ({ ratio, met, clean }: ComparisonResult): string =>
  ratio === null ? "" : `${met ? "met" : "NOT MET"}${clean ? "" : ", disturbed"}`;

/** Three significant digits. */
const short = (value: number): string =>
  Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));

function markdown(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(3, ...rows.map((row) => (row[column] ?? "").length)));
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width)).join(" | ")} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}
