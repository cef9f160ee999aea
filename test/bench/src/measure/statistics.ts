/** @param sorted ascending */
export const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;

export const ascending = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);

/** For an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = ascending(values);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The summary of several samples of one figure. */
export interface Summary {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  readonly samples: number;
  /** Samples without disturbance; the median uses these where there are enough. */
  readonly clean: number;
}

export interface Observed {
  readonly value: number;
  readonly isClean: boolean;
}

/** With this many clean samples the others are left out. */
export const enoughClean = 3;

export function summarize(observed: readonly Observed[]): Summary {
  const clean = observed.filter(({ isClean }) => isClean);
  const counted = (clean.length >= Math.min(enoughClean, observed.length) ? clean : observed).map(({ value }) => value);
  return {
    median: median(counted),
    least: Math.min(...counted),
    most: Math.max(...counted),
    samples: observed.length,
    clean: clean.length,
  };
}
