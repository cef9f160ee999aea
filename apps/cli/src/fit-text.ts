import { stripVTControlCharacters } from "node:util";

const widthOf = (text: string): number => stripVTControlCharacters(text).length;

/**
 * Prose for a terminal of so many columns: wrapped at blanks, each line that continues indented by two more. A word that
 * fits no line stays where it is.
 */
export const fitText = (text: string, columns: number | undefined): string =>
  text
    .split("\n")
    .map((line) => (columns === undefined || widthOf(line) <= columns ? line : wrapped(line, columns)))
    .join("\n");

function wrapped(line: string, columns: number): string {
  const indent = `${/^ */.exec(stripVTControlCharacters(line))?.[0] ?? ""}  `;
  const [first = "", ...words] = line.split(" ");
  const lines = [first];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`;
    const isKept = widthOf(longer) <= columns || indent.length + widthOf(word) > columns;
    if (isKept) lines[lines.length - 1] = longer;
    else lines.push(indent + word);
  }
  return lines.map((each) => each.trimEnd()).join("\n");
}
