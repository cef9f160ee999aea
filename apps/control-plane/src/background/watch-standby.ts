import type { Replication, StandbyWatch } from "../ports/replication.ts";
import { repeat } from "./repeat.ts";

/** A position of the primary's log at a time of the monotonic clock: every earlier commit is below it. */
interface Mark {
  readonly atMs: number;
  readonly position: bigint;
}

/** An hour's worth, at two a second. */
const keptMarks = 7_200;

/**
 * Marks the position of the primary's log, and compares the marks with the position that the standby replayed. The
 * standby's own lag would not do: it knows nothing of commits that did not reach it.
 */
export function watchStandby(
  replication: Replication,
  everyMs: number,
  onSilent: (cause: unknown) => void,
): StandbyWatch & { close(): void } {
  let marks: Mark[] = [];
  let shownAtMs = Number.NEGATIVE_INFINITY;
  let hasAnswered = false;

  const forget = (): void => {
    marks = [];
    shownAtMs = Number.NEGATIVE_INFINITY;
  };
  const mark = async (): Promise<void> => {
    const atMs = performance.now();
    const position = await replication.written();
    // A failover begins another log.
    if (position < (marks.at(-1)?.position ?? 0n)) forget();
    marks.push({ atMs, position });
    if (marks.length > keptMarks) marks.shift();
  };
  const compare = async (): Promise<void> => {
    const replayed = await replication.replayed();
    if (replayed === null) return forget();
    const reached = marks.findLastIndex(({ position }) => position <= replayed);
    shownAtMs = marks[reached]?.atMs ?? shownAtMs;
    marks = marks.slice(reached + 1);
  };
  const run = async (): Promise<void> => {
    // Readiness reports a primary that does not answer.
    await mark().catch(() => {});
    await compare();
    hasAnswered = true;
  };
  const loop = repeat(run, () => everyMs, onSilent, "first");
  const isAnswering = (): boolean => hasAnswered && !loop.isFailing();
  return { isAnswering, behindMs: () => performance.now() - shownAtMs, close: loop.close };
}
