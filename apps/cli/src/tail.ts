import type { DecisionFilters, DecisionRow } from "@svc/client";
import type { ControlPlane } from "./control-plane.ts";

/** Rows are read this far behind the control plane's clock: more than its longest write and its processes' skew. */
export const horizonMs = 5_000;

/** Decisions of [sinceMs, untilMs), oldest first; `untilMs` must be behind the horizon. */
export async function decisionsWithin(
  plane: ControlPlane,
  filters: DecisionFilters,
  sinceMs: number,
  untilMs: number,
): Promise<readonly DecisionRow[]> {
  const query = { ...filters, since: new Date(sinceMs), until: new Date(untilMs) };
  const rows = await plane.all("audit", (svc, page) => svc.audit.decisions({ ...query, ...page }));
  // RFC 3339 in UTC with milliseconds throughout, so text sorts as time.
  return [...rows].reverse().sort((a, b) => (a.ts < b.ts ? -1 : a.ts > b.ts ? 1 : 0));
}

/** Every matching decision from `sinceMs` on, by time, each once. @param waited resolves before the next read */
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
