import type { Answer } from "./api.ts";

export const parallelCount = 20;
/** Runs this many in parallel, each with its number. */
export const atOnce = <T>(run: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: parallelCount }, (_, n) => run(n)));

/** The parallel responses: one of `one`, where only one can succeed, and `others`. */
interface Expected {
  readonly one?: string;
  readonly others: string;
}

/** One operation that many callers run in parallel, and their responses. */
export interface ParallelOperation {
  /** Unique keys of the schema that its inserts meet. */
  readonly keys: readonly string[];
  readonly run: () => Promise<readonly Pick<Answer, "status" | "body">[]>;
  readonly expected: Expected;
}

export const all = (others: string): Expected => ({ others });
export const oneOf = (one: string, others: string): Expected => ({ one, others });
