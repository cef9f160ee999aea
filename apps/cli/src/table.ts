import stringWidth from "string-width";

/** A cell's text, which is cut where the terminal is too narrow, and its color. */
export interface Cell {
  readonly text: string;
  readonly paint?: ((text: string) => string) | undefined;
}

const gap = 2;
/** Columns are not cut below it: an id's last characters tell it apart. */
const leastWidth = 8;

/** Rows below a head in columns as wide as their widest cell; the widest are cut until a line has `maxWidth` columns. */
export function table(rows: readonly (readonly Cell[])[], maxWidth = Number.POSITIVE_INFINITY): readonly string[] {
  const widths = fitted(
    (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => stringWidth(row[column]?.text ?? "")))),
    maxWidth,
  );
  return rows.map((row) =>
    row
      .map((cell, column) => padded(cell, widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function fitted(natural: readonly number[], maxWidth: number): readonly number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, width) => sum + width, gap * (widths.length - 1));
  while (total() > maxWidth) {
    const widest = widths.indexOf(Math.max(...widths));
    const width = widths[widest] ?? 0;
    if (width <= leastWidth) break;
    widths[widest] = width - 1;
  }
  return widths;
}

function padded({ text, paint = (plain) => plain }: Cell, width: number): string {
  const fits = cut(text, width);
  return paint(fits) + " ".repeat(Math.max(0, width - stringWidth(fits)));
}

/** Cut to so many columns of the terminal; a cut text ends in `…`. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (stringWidth(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
