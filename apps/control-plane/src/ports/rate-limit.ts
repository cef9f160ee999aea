export interface RateBudget {
  readonly calls: number;
  readonly seconds: number;
}

export interface RateLimit {
  /** Counts one call. 0 within the budget, else the whole seconds until the next call. Never throws. */
  take(key: string): Promise<number>;
}

/** Absent: not limited. */
export interface RateLimits {
  readonly perBearer: RateLimit | undefined;
  readonly perSession: RateLimit | undefined;
}
