/** A process that is stopped takes up to the sum. */
export const drainTimes = {
  /** For load balancers to notice that it is not ready. */
  noticeMs: 5_000,
  /** For requests to finish. */
  deadlineMs: 15_000,
  /** For telemetry to be sent. */
  lastWordsMs: 5_000,
} as const;
