/** So many calls in so many seconds. */
export interface RateBudget {
  readonly calls: number;
  readonly seconds: number;
}

export interface RateLimit {
  /** Counts one call under the key. 0 where it may go on, else the whole seconds until the next one may. Never throws. */
  take(key: string): Promise<number>;
}

/** Absent: not limited. */
export interface RateLimits {
  readonly perBearer: RateLimit | undefined;
  readonly perSession: RateLimit | undefined;
}
