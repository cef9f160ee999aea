/** Random choices that a seed repeats. */
export interface Random {
  /** From 0 on, below `end`. */
  below(end: number): number;
  /** A whole number, both bounds included. */
  between(first: number, last: number): number;
  of<T>(values: readonly [T, ...T[]]): T;
  shuffled<T>(values: readonly T[]): T[];
  /** An independent stream for a part of the run, so that parts do not affect each other. */
  fork(): Random;
}

/** Mulberry32: small, fast, and random enough for these choices. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number) => Math.floor(next() * end);
  return {
    below,
    between: (first, last) => first + below(last - first + 1),
    of: (values) => values[below(values.length)] ?? values[0],
    shuffled: (values) => {
      const rest = [...values];
      return values.flatMap(() => rest.splice(below(rest.length), 1));
    },
    fork: () => seededRandom(below(2 ** 32)),
  };
}
