import type { DecisionFilters, DecisionRow } from "@svc/client";
import { type ControlPlane, collected } from "./control-plane.ts";

/**
 * How far behind the control plane's clock rows are read: longer than any of its writes may take (under a second) and
 * than clocks of its processes may differ, so that no row can still be committed before what was read.
 */
export const horizonMs = 5_000;

/**
 * Decisions of [sinceMs, untilMs), oldest first: the log's own order is that of its inserts, and one that was committed late
 * comes there behind younger ones. `untilMs` must be behind the horizon.
 */
export async function decisionsWithin(
  plane: ControlPlane,
  filters: DecisionFilters,
  sinceMs: number,
  untilMs: number,
): Promise<readonly DecisionRow[]> {
  const query = { ...filters, since: new Date(sinceMs), until: new Date(untilMs) };
  const rows = await collected(plane.rows("audit", (svc, page) => svc.audit.decisions({ ...query, ...page })));
  // RFC 3339 in UTC with milliseconds throughout, so text sorts as time.
  return [...rows].reverse().sort((a, b) => (a.ts < b.ts ? -1 : a.ts > b.ts ? 1 : 0));
}

/**
 * Every decision that matches from `sinceMs` on, in the order of their time, each once, whenever it was committed.
 * @param waited resolves when it is time to look again
 */
export async function* followDecisions(
  plane: ControlPlane,
  filters: DecisionFilters,
  sinceMs: number,
  waited: () => Promise<void>,
): AsyncGenerator<DecisionRow> {
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
