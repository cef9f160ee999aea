import type { DecisionRecord } from "@svc/core";

export interface DecisionCounts {
  /** Counts equal decisions among the newest ones of a span; in no order. */
  count(query: CountQuery): Promise<readonly DecisionCount[]>;
  /** Counts the newest observed denies by scope, most first. */
  observedByScope(newest: number): Promise<readonly ScopeCount[]>;
}

export interface ScopeCount {
  readonly scope: string;
  readonly count: number;
}

export interface CountQuery {
  /** Inclusive. */
  readonly sinceMs: number;
  /** Length of a bucket; buckets start at the Unix epoch. */
  readonly bucketMs: number;
  /** At most so many decisions are read, which bounds the time. */
  readonly newest: number;
}

export interface DecisionCount extends Pick<DecisionRecord, "decision" | "denyReason" | "enforced" | "taint"> {
  readonly scope: string;
  readonly bucketStartMs: number;
  readonly count: number;
}
