/** Levenshtein distance, or `limit` + 1 where it is larger. */
export function editDistance(one: string, other: string, limit: number): number {
  if (Math.abs(one.length - other.length) > limit) return limit + 1;
  let above = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const substituted = (above[column - 1] ?? 0) + (one[row - 1] === other[column - 1] ? 0 : 1);
      current.push(Math.min(substituted, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    above = current;
  }
  return Math.min(above[other.length] ?? 0, limit + 1);
}

const editsOfATypo = 2;

/** The known name that is at most two edits away, the nearest first. */
export function meantName(unknown: string, known: Iterable<string>): string | undefined {
  let nearest: { name: string; distance: number } | undefined;
  for (const name of known) {
    const distance = editDistance(unknown, name, editsOfATypo);
    if (distance <= editsOfATypo && distance < (nearest?.distance ?? Infinity)) nearest = { name, distance };
  }
  return nearest?.name;
}
