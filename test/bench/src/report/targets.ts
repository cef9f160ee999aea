import type { Summary } from "../measure/statistics.ts";
import { type Comparison, targets } from "./target-table.ts";

/** The result of one comparison of a target. */
export interface ComparisonResult {
  readonly of: string;
  /** Null where one of its sides is unmeasured. */
  readonly ratio: number | null;
  readonly target: number;
  readonly isAtMost: boolean;
  readonly met: boolean;
  /** Whether all its figures were measured without disturbance. */
  readonly clean: boolean;
  /** The skeleton's ratio to the same reference; null where there is none, or it is unmeasured. It decides nothing. */
  readonly ceiling: number | null;
  readonly isCeilingClean: boolean;
}

export interface TargetResult {
  readonly id: number;
  readonly name: string;
  /** Of the worst comparison. */
  readonly ratio: number | null;
  readonly target: number;
  readonly met: boolean;
  /** Of the same comparison as the ratio. */
  readonly ceiling: number | null;
  readonly comparisons: readonly ComparisonResult[];
}

export type Measured = ReadonlyMap<string, Summary>;

/** All fifteen, in the order of the table; an unmeasured target is not met. */
export const judge = (figures: Measured): readonly TargetResult[] =>
  targets.map(({ id, name, comparisons }) => {
    const results = comparisons.map((comparison) => compare(comparison, figures));
    const [worst] = results.toSorted((a, b) => distance(b) - distance(a));
    if (worst === undefined) throw new Error(`target ${id} has no comparison`);
    const met = results.every((one) => one.met);
    const { ratio, target, ceiling } = worst;
    return { id, name, ratio, target, met, ceiling, comparisons: results };
  });

function compare({ of, ratio, target, isAtMost, ceiling }: Comparison, figures: Measured): ComparisonResult {
  const { value, clean } = evaluate(ratio, figures);
  const met = value !== null && (isAtMost ? value <= target : value >= target);
  const reached = ceiling === undefined ? { value: null, clean: false } : evaluate(ceiling, figures);
  return { of, ratio: value, target, isAtMost, met, clean, ceiling: reached.value, isCeilingClean: reached.clean };
}

/** @returns null where one of its figures is unmeasured */
function evaluate(
  ratio: Comparison["ratio"],
  figures: Measured,
): { readonly value: number | null; readonly clean: boolean } {
  let clean = true;
  const figure = (key: string): number => {
    const summary = figures.get(key);
    if (summary === undefined) return Number.NaN;
    clean &&= summary.clean * 2 > summary.samples;
    return summary.median;
  };
  const value = ratio(figure);
  return Number.isFinite(value) ? { value, clean } : { value: null, clean: false };
}

/** Above 1 is unmet; unmeasured is the worst. */
const distance = ({ ratio, target, isAtMost }: ComparisonResult): number =>
  ratio === null ? Number.POSITIVE_INFINITY : isAtMost ? ratio / target : target / ratio;
