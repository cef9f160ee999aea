import { distance } from "fastest-levenshtein";

/**
 * Letters and signs of agent names that people take for each other. A letter that looks like two becomes the two, so that
 * `vw` and `wv` both look like `vvv`.
 */
const alike: readonly (readonly [RegExp, string])[] = [
  [/[._-]/g, ""],
  [/m/g, "rn"],
  [/w/g, "vv"],
  [/d/g, "cl"],
  [/[il1]/g, "l"],
  [/[0o]/g, "o"],
  [/5/g, "s"],
];

const skeleton = (name: string): string => alike.reduce((text, [from, to]) => text.replaceAll(from, to), name);

/** Shorter names differ by one letter too often. */
const shortestNear = 5;

/** Other names that a person could take for this one: of the same skeleton, or one letter away. */
export const lookAlikesOf = (name: string, all: readonly string[]): readonly string[] =>
  all.filter((other) => {
    if (other === name) return false;
    if (skeleton(other) === skeleton(name)) return true;
    return Math.min(name.length, other.length) >= shortestNear && distance(name, other) === 1;
  });
