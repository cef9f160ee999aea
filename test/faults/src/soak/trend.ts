import { type Measure, measures, type Sample } from "./sample.ts";

export interface Trend {
  readonly measure: Measure;
  /**
   * The minimum of the second quarter, when everything is warm, and of the last: what is never freed. Memory of a burst
   * of calls or of pending garbage collection is freed again.
   */
  readonly early: number;
  readonly late: number;
  readonly isFlat: boolean;
}

/** The allowed growth of a figure: a fraction, or an absolute amount where that is larger. */
const slack: Readonly<Record<Measure, { readonly part: number; readonly atLeast: number }>> = {
  memoryMib: { part: 0.15, atLeast: 40 },
  descriptors: { part: 0.2, atLeast: 20 },
  // Pools open connections up to their size: only more than that is a leak.
  connections: { part: 0.2, atLeast: 20 },
  deadRowsPercent: { part: 0.5, atLeast: 5 },
};

export function trendsOf(samples: readonly Sample[]): readonly Trend[] {
  const quarter = Math.floor(samples.length / 4);
  return measures.map((measure) => {
    const values = samples.map((sample) => sample[measure]);
    const early = Math.min(...values.slice(quarter, 2 * quarter));
    const late = Math.min(...values.slice(-quarter));
    const { part, atLeast } = slack[measure];
    return { measure, early, late, isFlat: late - early <= Math.max(early * part, atLeast) };
  });
}
