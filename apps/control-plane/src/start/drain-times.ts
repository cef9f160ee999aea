/** How long a process that was told to stop takes: whoever stops it waits for the sum, and then some. */
export const drainTimes = {
  /** Time for a load balancer to notice that it is no longer ready. */
  noticeMs: 5_000,
  /** Time for what is in flight to finish. */
  deadlineMs: 15_000,
  /** Time for telemetry to send what it holds, and then some. */
  lastWordsMs: 5_000,
} as const;
