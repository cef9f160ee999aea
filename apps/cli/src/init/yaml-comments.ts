import type { Document, Node } from "yaml";
import { isMap, isPair, isSeq } from "yaml";
import { shown } from "../output.ts";
import type { Note } from "./offer.ts";

/** What an editor reads: the schema of the file. */
export const schemaLine = (schema: string): string => ` yaml-language-server: $schema=${schema}`;

/** Lines above a node; foreign text stays on its line. */
export function commentAbove(node: unknown, lines: readonly string[]): void {
  if (lines.length > 0) (node as Node).commentBefore = lines.map((line) => ` ${shown(line)}`).join("\n");
}

/** Lines above each item of the list or map at a path. */
export function commentEach(
  document: Document,
  path: readonly (string | number)[],
  linesOf: (index: number) => readonly string[],
): void {
  const list = document.getIn(path, true);
  if (!isSeq(list) && !isMap(list)) return;
  list.items.forEach((item, index) => {
    commentAbove(isPair(item) ? item.key : item, linesOf(index));
  });
}

/** Short maps in one line each, as people write them. */
export function flowEach(document: Document, path: readonly (string | number)[]): void {
  const list = document.getIn(path, true);
  if (!isSeq(list)) return;
  for (const item of list.items) if (isMap(item)) item.flow = true;
}

export const noteLines = (notes: readonly Note[]): readonly string[] =>
  notes.map(({ text, isGuess }) => (isGuess ? `review: ${text}` : text));
