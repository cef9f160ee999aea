/** A removed control of the product, and the test that must fail then. */
export interface Mutation {
  /** Its name in THREATS.md. */
  readonly name: string;
  /** From the root of the repository. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly text: string;
  readonly replacement: string;
  readonly killedBy: KilledBy;
}

export interface KilledBy {
  /** From the root of the repository. */
  readonly file: string;
  /** As in the source; the names of the groups around it may be left out. */
  readonly name: string;
}

export type Row = readonly [name: string, file: string, text: string, replacement: string, killedBy: KilledBy];

/** @param folder of each row's file */
export const mutationsOf = (folder: string, rows: readonly Row[]): readonly Mutation[] =>
  rows.map(([name, file, text, replacement, killedBy]) => ({
    name,
    file: `${folder}/${file}`,
    text,
    replacement,
    killedBy,
  }));

/** @returns a function that names tests of one file */
export const testsOf =
  (file: string) =>
  (name: string): KilledBy => ({ file, name });
