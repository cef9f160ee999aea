/** A control that is taken out of the product, and the test that must notice. */
export interface Mutation {
  /** What THREATS.md calls it. */
  readonly name: string;
  /** From the root of the repository. */
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly text: string;
  readonly replacement: string;
  readonly killedBy: KilledBy;
}

export interface KilledBy {
  /** From the root of the repository. */
  readonly file: string;
  /** As it stands in the source; the names of the groups around it may be left out. */
  readonly name: string;
}

export type Row = readonly [name: string, file: string, text: string, replacement: string, killedBy: KilledBy];

/** @param folder that the file of each row lies in */
export const mutationsOf = (folder: string, rows: readonly Row[]): readonly Mutation[] =>
  rows.map(([name, file, text, replacement, killedBy]) => ({
    name,
    file: `${folder}/${file}`,
    text,
    replacement,
    killedBy,
  }));

/** @returns names a test of one file */
export const testsOf =
  (file: string) =>
  (name: string): KilledBy => ({ file, name });
