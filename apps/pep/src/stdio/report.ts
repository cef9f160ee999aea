export type Report = ReturnType<typeof createReport>;

const firstMs = 1_000;
const laterMs = 60_000;

/**
 * What an upstream's processes do, as a line for the operator: soon after something happens, then once a minute at most.
 * What they write is counted and not repeated, since it may hold anything.
 */
export function createReport(upstream: string, log: (line: string) => void, monotonicMs: () => number) {
  let ends: string[] = [];
  let starts = 0;
  let stderrBytes = 0;
  let noise = 0;
  let noiseBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let loggedMs = Number.NEGATIVE_INFINITY;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const parts = [
      starts > 0 ? `${starts} started` : "",
      ...[...Map.groupBy(ends, (why) => why)].map(([why, all]) => `${all.length} ${why}`),
      stderrBytes > 0 ? `${stderrBytes} bytes on standard error` : "",
      noise > 0 ? `${noise} lines that are no messages (${noiseBytes} bytes) skipped` : "",
    ].filter((part) => part !== "");
    if (parts.length === 0) return;
    log(`upstream ${upstream}: server processes: ${parts.join(", ")}`);
    loggedMs = monotonicMs();
    ends = [];
    starts = stderrBytes = noise = noiseBytes = 0;
  };
  const plan = () => {
    timer ??= setTimeout(flush, Math.max(firstMs, loggedMs + laterMs - monotonicMs())).unref();
  };
  return {
    started() {
      starts += 1;
      plan();
    },
    ended(why: string) {
      ends.push(why);
      plan();
    },
    stderr(bytes: number) {
      stderrBytes += bytes;
      plan();
    },
    noise(bytes: number) {
      noise += 1;
      noiseBytes += bytes;
      plan();
    },
    flush,
  };
}
