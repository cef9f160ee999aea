import type { Sql } from "./database.ts";

/** The first identifier that a moment could have made (RFC 9562 section 5.7: 48 bits of milliseconds come first). */
export function firstIdAt(epochMs: number): string {
  const hex = Math.max(0, epochMs).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/**
 * A record's time and its identifier are made by one clock within one act, so a day is far more than lies between them.
 * What it is worth: whole months outside of the span are not looked at.
 */
const slackMs = 86_400_000;

export interface Span {
  /** Epoch milliseconds, inclusive. */
  readonly sinceMs?: number | undefined;
  /** Epoch milliseconds, exclusive. */
  readonly untilMs?: number | undefined;
}

type Column = ReturnType<Sql>;

/** Conditions, each with its leading `and`. */
export const withinSpan = (sql: Sql, { sinceMs, untilMs }: Span, time: Column, id: Column) => sql`
  ${sinceMs === undefined ? sql`` : sql`and ${time} >= ${new Date(sinceMs)} and ${id} >= ${firstIdAt(sinceMs - slackMs)}`}
  ${untilMs === undefined ? sql`` : sql`and ${time} < ${new Date(untilMs)} and ${id} < ${firstIdAt(untilMs + slackMs)}`}`;
