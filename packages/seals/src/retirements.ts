import { firstIdAt, idBefore, timeOfId } from "./entries.ts";
import { proveRow } from "./prove.ts";
import type { RecordReader } from "./record-reader.ts";
import { rowsQuery } from "./rows-query.ts";
import { type Source, sourceFacts, sources } from "./sources.ts";

/**
 * Why a month that is marked as retired excuses no missing row. `retirement_unrecorded`: no event of it is recorded.
 * `retirement_early`: the month was not over at the time of its event. `retirement_partial`: rows of it are left.
 * `retirement_unsealed`: its event is not sealed for too long, or of the future. Its missing rows are not named.
 */
export type RetirementFault =
  | "retirement_unrecorded"
  | "retirement_early"
  | "retirement_partial"
  | "retirement_unsealed";

export interface Retirement {
  /** `YYYY-MM`. */
  readonly month: string;
  readonly fault: RetirementFault | undefined;
  /** Epoch milliseconds. Set where its event is not sealed yet: unsealed then, it is a fault. */
  readonly sealedByMs: number | undefined;
}

export interface AuditTime {
  /** The auditor's clock: epoch milliseconds. */
  readonly nowMs: number;
  /** How old the oldest unsealed row may be. */
  readonly maxUnsealedMs: number;
}

/** Every month that is marked as retired. The mark itself has no authority: who deletes rows can write it. */
export async function readRetirements(reader: RecordReader, time: AuditTime): Promise<readonly Retirement[]> {
  const rows = await reader.query({
    text: `select to_char(m.month, 'YYYY-MM') as month, e.event_id::text as id from public.retired_month m
      left join public.administrative_event e
        on e.kind = 'records_retired' and e.details->>'month' = to_char(m.month, 'YYYY-MM')
      order by 1, 2`,
    values: [],
  });
  const retirements: Retirement[] = [];
  for (const [month, marks] of Map.groupBy(rows, (row) => row.month ?? "")) {
    const events = marks.flatMap(({ id }) => id ?? []);
    retirements.push({ month, ...(await judge(reader, month, events, time)) });
  }
  return retirements;
}

type Judgement = Omit<Retirement, "month">;
const faulty = (fault: RetirementFault): Judgement => ({ fault, sealedByMs: undefined });

async function judge(
  reader: RecordReader,
  month: string,
  events: readonly string[],
  time: AuditTime,
): Promise<Judgement> {
  if (events.length === 0) return faulty("retirement_unrecorded");
  const span = spanOf(month);
  const later = events.filter((id) => timeOfId(id) >= span.endMs);
  if (later.length === 0) return faulty("retirement_early");
  let unsealedMs: number | undefined;
  for (const id of later) {
    const proven = await proveRow(reader, "event", id);
    // Its time is true: a seal covers only identifiers that were made before it.
    if (proven.ok) return ofProven(reader, span, time.nowMs - timeOfId(id));
    if (proven.cause === "unsealed") unsealedMs ??= timeOfId(id);
  }
  return unsealedMs === undefined ? faulty("retirement_unrecorded") : ofUnsealed(reader, span, unsealedMs, time);
}

async function ofProven(reader: RecordReader, span: Span, ageMs: number): Promise<Judgement> {
  return (await isGone(reader, span, ageMs))
    ? { fault: undefined, sealedByMs: undefined }
    : faulty("retirement_partial");
}

/** How far the clocks of control plane and auditor may differ. */
const maxClockDifferenceMs = 60_000;

/** The event's time is not proven: the writer of the row chose it. So it may only delay the judgement. */
async function ofUnsealed(
  reader: RecordReader,
  span: Span,
  eventMs: number,
  { nowMs, maxUnsealedMs }: AuditTime,
): Promise<Judgement> {
  const sealedByMs = eventMs + maxUnsealedMs;
  if (sealedByMs < nowMs || eventMs > nowMs + maxClockDifferenceMs) return faulty("retirement_unsealed");
  if (!(await isGone(reader, span, nowMs - eventMs))) return faulty("retirement_partial");
  return { fault: undefined, sealedByMs };
}

interface Span {
  readonly startMs: number;
  /** Exclusive. */
  readonly endMs: number;
}

/** Of a month in UTC. */
function spanOf(month: string): Span {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return { startMs: Date.UTC(year, number - 1), endMs: Date.UTC(year, number) };
}

/** Decisions go in the transaction of the event. What followed from them goes in batches, within a day. */
const purgedWithinMs = 86_400_000;

async function isGone(reader: RecordReader, span: Span, ageMs: number): Promise<boolean> {
  const retiring = sources.filter((source) => sourceFacts[source].retires);
  for (const source of ageMs < purgedWithinMs ? (["decision"] as const) : retiring) {
    if (await holdsRows(reader, source, span)) return false;
  }
  return true;
}

async function holdsRows(reader: RecordReader, source: Source, { startMs, endMs }: Span): Promise<boolean> {
  const range = { after: idBefore(firstIdAt(startMs)), through: idBefore(firstIdAt(endMs)) };
  const columns = [sourceFacts[source].id];
  return (await reader.query(rowsQuery({ source, columns, range, limit: 1 }))).length > 0;
}
