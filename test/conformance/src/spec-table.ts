/** A test by its file and its name in the README. */
export interface NamedTest {
  /** A file of this folder by its name, any other by its path from the root of the repository. */
  readonly file: string;
  /** As in the source; the names of the groups around it may be left out. */
  readonly name: string;
}

/** One row of a table, with the tests of its guarantee. */
export interface SpecRow {
  readonly section: string;
  readonly cells: readonly string[];
  readonly tests: readonly NamedTest[];
}

const lastColumn = "held by";
const cellsOf = (line: string): string[] =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());

/** @throws {Error} for a cell that is not `file`: name, so that no row is skipped. */
export function readSpecTables(markdown: string): readonly SpecRow[] {
  const rows: SpecRow[] = [];
  let section = "";
  let isHeld = false;
  for (const line of markdown.split("\n")) {
    if (line.startsWith("## ")) section = line.slice(3);
    if (!line.startsWith("|")) isHeld = false;
    else if (cellsOf(line).at(-1) === lastColumn) isHeld = true;
    else if (isHeld && !/^[|: -]+$/.test(line)) rows.push(toRow(section, cellsOf(line)));
  }
  return rows;
}

function toRow(section: string, cells: readonly string[]): SpecRow {
  const named = (cells.at(-1) ?? "").split("<br>").filter((text) => text !== "");
  return { section, cells: cells.slice(0, -1), tests: named.map((text) => toNamedTest(text, cells)) };
}

function toNamedTest(text: string, [first]: readonly string[]): NamedTest {
  const [, file, name] = /^`([^`]+)`: (.+)$/.exec(text) ?? [];
  if (file === undefined || name === undefined) {
    throw new Error(`the row "${first}" names a test as "${text}": write \`file.test.ts\`: name`);
  }
  return { file, name };
}
