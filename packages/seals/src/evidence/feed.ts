import { monthOfId } from "../entries.ts";
import type { Row } from "../leaf.ts";
import { type RecordReader, readColumns, type SealRow } from "../record-reader.ts";
import { entriesOf } from "../rows.ts";
import type { Seal } from "../seal.ts";
import { type Source, sourceFacts } from "../sources.ts";
import { type EvidenceEvent, type EvidenceFormat, eventLine, rowEvent } from "./event.ts";
import { type EvidenceRow, renderRow } from "./render.ts";
import { readSealedRows, type SealedRows } from "./sealed-rows.ts";

/** Where a batch is not as it was sealed. What the database has of the row is with it, so that a sink withholds nothing. */
export type FeedFinding =
  | { readonly kind: "list_changed" }
  | { readonly kind: "row_changed" | "row_inserted"; readonly source: Source; readonly id: string; readonly row: Row }
  | { readonly kind: "row_removed"; readonly source: Source; readonly id: string }
  | { readonly kind: "rows_retired"; readonly source: Source; readonly month: string; readonly rows: number };

/** A row with its evidence, or a finding in its place. `end`: so many entries of the batch's list come up to it. */
export type FeedItem =
  | { readonly end: number; readonly row: EvidenceRow }
  | { readonly end: number; readonly finding: FeedFinding; readonly batch: number; readonly sealedAtMs: number };

type StoredList = Pick<SealRow, "entries">;

/** Items of a batch: the rows in the order of the tree, then what was inserted. */
export async function readFeed(reader: RecordReader, seal: Seal, stored: StoredList): Promise<readonly FeedItem[]> {
  const { batch, sealedAtMs } = seal;
  const facts = { reader, columns: await readColumns(reader) };
  const asItem = (finding: FeedFinding, end: number): FeedItem => ({ end, finding, batch, sealedAtMs });
  const list = entriesOf(seal, stored.entries);
  const entries = list ?? [];
  const { rows, tampered } = await readSealedRows(facts, seal, entries);
  const isMissing = tampered.some(({ kind }) => kind === "row_removed");
  const retired = isMissing ? await retiredMonths(reader) : new Set<string>();
  const found = new Map(tampered.map((each) => [`${each.source} ${each.id}`, findingOf(each, retired)]));
  const take = (name: string): FeedFinding | undefined => {
    const finding = found.get(name);
    found.delete(name);
    return finding;
  };
  const items: FeedItem[] = list === undefined ? [asItem({ kind: "list_changed" }, 0)] : [];
  for (const [index, { source, id }] of entries.entries()) {
    const row = rows[index];
    const end = index + 1;
    const finding = take(`${source} ${id}`);
    const before = items.at(-1);
    const grown = finding && before && "finding" in before ? joined(before.finding, finding) : undefined;
    if (grown !== undefined) items[items.length - 1] = asItem(grown, end);
    else if (finding !== undefined) items.push(asItem(finding, end));
    else if (row !== undefined) items.push({ end, row });
  }
  return [...items, ...Array.from(found.values(), (finding) => asItem(finding, entries.length))];
}

function findingOf(
  { kind, source, id, row }: SealedRows["tampered"][number],
  retired: ReadonlySet<string>,
): FeedFinding {
  if (kind !== "row_removed") return { kind, source, id, row: row ?? {} };
  const month = monthOfId(id);
  const isRetired = sourceFacts[source].retires && retired.has(month);
  return isRetired ? { kind: "rows_retired", source, month, rows: 1 } : { kind, source, id };
}

/** One finding for rows that went with their month and follow each other. */
function joined(before: FeedFinding, next: FeedFinding): FeedFinding | undefined {
  const isSame =
    before.kind === "rows_retired" &&
    next.kind === "rows_retired" &&
    before.source === next.source &&
    before.month === next.month;
  return isSame ? { ...before, rows: before.rows + next.rows } : undefined;
}

async function retiredMonths(reader: RecordReader): Promise<ReadonlySet<string>> {
  const rows = await reader.query({
    text: "select to_char(month, 'YYYY-MM') as month from public.retired_month",
    values: [],
  });
  return new Set(rows.map(({ month }) => month ?? ""));
}

/** The items that come after the first `entries` of the batch; an insertion always does. */
export const itemsAfter = (items: readonly FeedItem[], entries: number): readonly FeedItem[] => {
  const size = items.at(-1)?.end ?? 0;
  return items.filter((item) => item.end > entries || ("finding" in item && item.end === size));
};

/** The line of an item without its end: for a row the same bytes as in an export. */
export function renderItem(format: EvidenceFormat, item: FeedItem): string {
  if ("row" in item) return renderRow(format, item.row) ?? "";
  const { batch, finding } = item;
  return eventLine(format, itemEvent(item), JSON.stringify({ batch, finding }));
}

export function itemEvent(item: FeedItem): EvidenceEvent {
  if ("row" in item) return rowEvent(item.row);
  const { batch, finding, sealedAtMs } = item;
  const what =
    finding.kind === "list_changed" ? "" : `/${finding.source}/${"id" in finding ? finding.id : finding.month}`;
  return {
    uid: `finding/${batch}/${finding.kind}${what}`,
    type: "finding",
    time: new Date(sealedAtMs).toISOString(),
    actor: "svc",
    operation: finding.kind,
    level: finding.kind === "rows_retired" ? "medium" : "high",
    failure: finding.kind,
  };
}
