import { setTimeout as delay } from "node:timers/promises";
import { untilSignal } from "@svc/host/process-end";
import { ageOf } from "./ages.ts";
import { collected } from "./control-plane.ts";
import { type Format, type FormatFlags, formatOf, isData, type ListFlags } from "./formats.ts";
import { type Body, type BodyName, colors, print, printBodies, printTable, shown } from "./output.ts";
import type { Cell } from "./table.ts";

export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string | number | null | undefined;
  readonly paint?: (row: Row) => (text: string) => string;
  /** `time`: its age, whole in `wide`. `id`: its last group, whole in `wide`. */
  readonly kind?: "time" | "id";
  readonly isWide?: true;
}

/** How a list of one kind of body is printed. */
export interface View<Name extends BodyName> {
  readonly body: Name;
  readonly columns: readonly Column<Body<Name>>[];
  /** Tells rows apart, and is what other commands take as an argument. */
  readonly nameOf: (row: Body<Name>) => string;
  /** Printed in place of an empty table. */
  readonly none: string;
}

/** Prints a list in the format of its flags, at most `limit` rows; with `watch` also what is new or changed later. */
export async function printList<Name extends BodyName>(
  view: View<Name>,
  { limit, watch = false, ...flags }: ListFlags,
  read: () => AsyncIterable<Body<Name>>,
): Promise<void> {
  const printRows = printerOf(view, formatOf(flags));
  const known = new Map<string, string>();
  const ended = watch ? untilSignal() : undefined;
  do {
    const current = new Set<string>();
    await printRows(changed(limited(read(), limit), view.nameOf, known, current));
    // Of a limited list others may have taken a row's place.
    if (limit === Number.POSITIVE_INFINITY) forget(known, current);
  } while (ended !== undefined && !(await Promise.race([ended, delay(watchMs)])));
  ended?.then(() => process.exit(0));
}

/** Prints rows as they come, with whole times and ids. */
export async function printStream<Name extends BodyName>(
  view: View<Name>,
  flags: FormatFlags,
  rows: AsyncIterable<Body<Name>>,
): Promise<void> {
  const format = formatOf(flags);
  if (isData(format) || format === "name") return printerOf(view, format)(rows);
  const columns = view.columns.filter(({ isWide }) => format === "wide" || !isWide);
  for await (const row of rows) {
    const cells = columns.map((column) => cellOf(column, row, true));
    print(cells.map(({ text, paint = (plain) => plain }) => paint(text)).join("  "));
  }
}

const watchMs = 2_000;

async function* limited<Row>(rows: AsyncIterable<Row>, limit: number): AsyncGenerator<Row> {
  let count = 0;
  for await (const row of rows) {
    if (count === limit) {
      process.stderr.write(`The first ${limit}; --limit all prints every one.\n`);
      return;
    }
    count += 1;
    yield row;
  }
}

/** Rows that are not known as they are. */
async function* changed<Row>(
  rows: AsyncIterable<Row>,
  nameOf: (row: Row) => string,
  known: Map<string, string>,
  current: Set<string>,
): AsyncGenerator<Row> {
  for await (const row of rows) {
    const [name, text] = [nameOf(row), JSON.stringify(row)];
    current.add(name);
    if (known.get(name) === text) continue;
    known.set(name, text);
    yield row;
  }
}

function forget(known: Map<string, string>, current: ReadonlySet<string>): void {
  for (const name of known.keys()) {
    if (current.has(name)) continue;
    known.delete(name);
    process.stderr.write(`${shown(name)} is gone\n`);
  }
}

function printerOf<Name extends BodyName>(view: View<Name>, format: Format) {
  let isFirst = true;
  return async (rows: AsyncIterable<Body<Name>>): Promise<void> => {
    if (isData(format)) return printBodies(view.body, rows, format);
    if (format === "name") {
      for await (const row of rows) print(view.nameOf(row));
      return;
    }
    const lines = await collected(rows);
    if (lines.length > 0) await printRows(view, lines, { isWide: format === "wide", hasHead: isFirst });
    else if (isFirst) print(view.none);
    isFirst &&= lines.length === 0;
  };
}

async function printRows<Name extends BodyName>(
  view: View<Name>,
  rows: readonly Body<Name>[],
  { isWide, hasHead }: { readonly isWide: boolean; readonly hasHead: boolean },
): Promise<void> {
  const columns = view.columns.filter((column) => isWide || !column.isWide);
  const cells = rows.map((row) => columns.map((column) => cellOf(column, row, isWide)));
  const head = columns.map(({ title }) => title);
  await printTable(head, cells, { hasHead, ...(isWide && { maxWidth: Number.POSITIVE_INFINITY }) });
}

function cellOf<Row>({ text, paint, kind }: Column<Row>, row: Row, isWide: boolean): Cell {
  const value = text(row);
  if (value === null || value === undefined || value === "") return { text: "-", paint: colors.dim };
  const whole = String(value);
  const short = isWide || kind === undefined ? shown(whole) : kind === "time" ? ageOf(whole) : lastGroup(whole);
  return { text: short, paint: paint?.(row) ?? (kind === undefined ? undefined : colors.dim) };
}

/** The random end of a UUIDv7; commands take it in place of the whole. */
const lastGroup = (id: string): string => id.slice(id.lastIndexOf("-") + 1);
