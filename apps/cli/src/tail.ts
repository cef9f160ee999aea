import type { Decision } from "./audit-rows.ts";
import { type ControlPlane, collected, type Query } from "./control-plane.ts";

/**
 * How far behind the control plane's clock rows are read: longer than any of its writes may take (under a second) and
 * than clocks of its processes may differ, so that no row can still be committed before what was read.
 */
export const horizonMs = 5_000;

/**
 * Decisions of [sinceMs, untilMs), oldest first: the log's own order is that of its inserts, and one that was committed late
 * stands there behind younger ones. `untilMs` must lie behind the horizon.
 */
export async function decisionsWithin(
  plane: ControlPlane,
  filters: Query,
  sinceMs: number,
  untilMs: number,
): Promise<readonly Decision[]> {
  const span = { since: new Date(sinceMs).toISOString(), until: new Date(untilMs).toISOString() };
  const rows = await collected(plane.rows<Decision>("audit", "/v1/audit/decisions", { ...filters, ...span }));
  // RFC 3339 in UTC with milliseconds throughout, so text sorts as time.
  return [...rows].reverse().sort((a, b) => (a.ts < b.ts ? -1 : a.ts > b.ts ? 1 : 0));
}

/**
 * Every decision that matches from `sinceMs` on, in the order of their time, each once, whenever it was committed.
 * @param waited resolves when it is time to look again
 */
export async function* followDecisions(
  plane: ControlPlane,
  filters: Query,
  sinceMs: number,
  waited: () => Promise<void>,
): AsyncGenerator<Decision> {
  let fromMs = sinceMs;
  for (;;) {
    const untilMs = plane.nowMs() - horizonMs;
    if (untilMs > fromMs) {
      yield* await decisionsWithin(plane, filters, fromMs, untilMs);
      fromMs = untilMs;
    }
    await waited();
  }
}
