import { distance } from "fastest-levenshtein";

const editsOfATypo = 2;

/** The nearest of the known names that are at most two edits away. */
export function nearestName(unknown: string, known: Iterable<string>): string | undefined {
  const near = [...known].map((name) => ({ name, edits: distance(unknown, name) }));
  return near.filter(({ edits }) => edits <= editsOfATypo).toSorted((a, b) => a.edits - b.edits)[0]?.name;
}
