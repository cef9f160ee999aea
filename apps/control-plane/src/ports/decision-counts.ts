import type { DecisionRecord } from "@svc/core";

export interface DecisionCounts {
  /** Over the newest decisions of a span: alike ones together, in no order. */
  count(query: CountQuery): Promise<readonly DecisionCount[]>;
  /** Over the newest so many that observe mode let pass: how many were of which scope, most first. */
  observedByScope(newest: number): Promise<readonly ScopeCount[]>;
}

export interface ScopeCount {
  readonly scope: string;
  readonly count: number;
}

export interface CountQuery {
  /** Epoch milliseconds, inclusive. */
  readonly sinceMs: number;
  /** Into which the span is cut, from the Unix epoch on. */
  readonly bucketMs: number;
  /** How many decisions are looked at, the newest: what bounds the time that it takes. */
  readonly newest: number;
}

/** Decisions that differ in nothing told here. */
export interface DecisionCount extends Pick<DecisionRecord, "decision" | "denyReason" | "enforced" | "taint"> {
  readonly scope: string;
  /** Epoch milliseconds: where their part of the span begins. */
  readonly bucketStartMs: number;
  readonly count: number;
}
