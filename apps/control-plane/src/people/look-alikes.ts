import { distance } from "fastest-levenshtein";

/** Letters and signs of agent names that people take for each other. Pairs come last: `c1` looks like `cl`, and so like `d`. */
const alike: readonly (readonly [RegExp, string])[] = [
  [/[._-]/g, ""],
  [/[il1]/g, "l"],
  [/[0o]/g, "o"],
  [/5/g, "s"],
  [/rn/g, "m"],
  [/vv/g, "w"],
  [/cl/g, "d"],
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
