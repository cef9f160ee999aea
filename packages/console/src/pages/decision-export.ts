import { decisionRow, toWire } from "@svc/core";
import { filtered } from "../form.ts";
import { href } from "../markup.ts";
import type { ConsolePorts, DecisionRow, Listed, Query } from "../ports.ts";
import { type Page, seeOther } from "../view.ts";
import { askedOf, decisionsPath } from "./decision-filter.ts";

/** An export has at most so many rows; its last line says where it is cut. */
export const exportedRows = 50_000;
const rowsPerRead = 1_000;

interface Format {
  readonly extension: "csv" | "jsonl";
  readonly contentType: string;
  readonly head: string;
  line(row: WireRow): string;
  cut(statement: string): string;
}

type WireRow = Readonly<Record<string, unknown>>;

const columns = Object.keys(decisionRow.shape);

const csv: Format = {
  extension: "csv",
  contentType: "text/csv; charset=utf-8; header=present",
  head: csvLine(columns),
  line: (row) => csvLine(columns.map((column) => row[column])),
  cut: (statement) => csvLine([statement]),
};

const jsonLines: Format = {
  extension: "jsonl",
  contentType: "application/x-ndjson; charset=utf-8",
  head: "",
  line: (row) => `${JSON.stringify(row)}\n`,
  cut: (statement) => `${JSON.stringify({ cut: statement })}\n`,
};

/** RFC 4180. A spreadsheet takes a cell that begins with one of these for a formula: an apostrophe makes it text. */
function csvLine(values: readonly unknown[]): string {
  const cells = values.map((value) => {
    const text = String(value ?? "");
    const plain = typeof value === "string" && /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  });
  return `${cells.join(",")}\r\n`;
}

/** The filtered list of decisions as a file, with the rows and names of the audit API. */
const exportPage = (format: Format): Page => ({
  path: `${decisionsPath}.${format.extension}`,
  async render({ reads, clock }, { query }) {
    const asked = askedOf(query, clock.nowMs());
    const first = await filtered(() => reads.decisions(asked, rowsPerRead));
    // The page of the same filter shows what is wrong with it.
    if (first.rows === undefined) return seeOther(href(decisionsPath, query));
    const stamp = new Date(clock.nowMs()).toISOString().slice(0, 16).replace(":", "");
    return new Response(ReadableStream.from(lines(reads, asked, first.rows, format)), {
      headers: {
        "Content-Type": format.contentType,
        "Content-Disposition": `attachment; filename="decisions-${stamp}Z.${format.extension}"`,
      },
    });
  },
});

export const decisionExports: readonly Page[] = [exportPage(csv), exportPage(jsonLines)];

const utf8 = new TextEncoder();

async function* lines(
  reads: ConsolePorts["reads"],
  asked: Query,
  first: Listed<DecisionRow>,
  format: Format,
): AsyncGenerator<Uint8Array> {
  let left = exportedRows;
  yield utf8.encode(format.head);
  for (let page = first; ; page = await reads.decisions({ ...asked, cursor: page.nextCursor }, rowsPerRead)) {
    const rows = page.rows.slice(0, left);
    left -= rows.length;
    yield utf8.encode(rows.map((row) => format.line(toWireRow(row))).join(""));
    if (page.nextCursor === null) return;
    if (left === 0) {
      yield utf8.encode(format.cut(statement));
      return;
    }
  }
}

const statement = `Cut after ${exportedRows} rows: more decisions may match. Narrow the filter, or use svc audit export.`;

const toWireRow = ({ record, spentAtMs, paramsHash }: DecisionRow): WireRow =>
  toWire(decisionRow, {
    ...record,
    ts: new Date(record.decidedAtMs).toISOString(),
    spentAt: spentAtMs === null ? null : new Date(spentAtMs).toISOString(),
    paramsHash,
  }) as WireRow;
