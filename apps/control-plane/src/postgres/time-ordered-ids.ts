import type { Span } from "../ports/audit-reads.ts";
import type { Fragment, Sql } from "./database.ts";

/** The lowest identifier of a moment (RFC 9562 section 5.7: 48 bits of milliseconds come first). */
export function firstIdAt(epochMs: number): string {
  const hex = Math.max(0, epochMs).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** Far more than lies between a record's time and its identifier. The condition on the identifier skips other months. */
const slackMs = 86_400_000;

/** Conditions, each with its leading `and`. */
export const withinSpan = (sql: Sql, { sinceMs, untilMs }: Span, time: Fragment, id: Fragment) => sql`
  ${sinceMs === undefined ? sql`` : sql`and ${time} >= ${new Date(sinceMs)} and ${id} >= ${firstIdAt(sinceMs - slackMs)}`}
  ${untilMs === undefined ? sql`` : sql`and ${time} < ${new Date(untilMs)} and ${id} < ${firstIdAt(untilMs + slackMs)}`}`;
