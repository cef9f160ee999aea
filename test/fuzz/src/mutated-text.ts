import fc from "fast-check";

type Edit = (text: string) => string;

/** Any position in a text of any length. */
const place = fc.nat(0xffff_ffff);
const at = (text: string, where: number): number => where % (text.length + 1);
const spliced = (text: string, from: number, length: number, piece: string): string =>
  text.slice(0, from) + piece + text.slice(from + length);

const cut = fc.tuple(place, fc.integer({ min: 1, max: 40 })).map(
  ([where, length]): Edit =>
    (text) =>
      spliced(text, at(text, where), length, ""),
);
const repeat = fc.tuple(place, fc.integer({ min: 1, max: 40 })).map(
  ([where, length]): Edit =>
    (text) => {
      const from = at(text, where);
      return spliced(text, from, 0, text.slice(from, from + length));
    },
);
const change = fc.tuple(place, fc.nat(255)).map(
  ([where, byte]): Edit =>
    (text) =>
      spliced(text, at(text, where), 1, String.fromCharCode(byte)),
);
const insert = (pieces: readonly string[]) =>
  fc.tuple(place, fc.constantFrom(...pieces)).map(
    ([where, piece]): Edit =>
      (text) =>
        spliced(text, at(text, where), 0, piece),
  );
/** Between two lines, where a header can be. */
const insertLine = (pieces: readonly string[]) =>
  fc.tuple(place, fc.constantFrom(...pieces)).map(
    ([where, piece]): Edit =>
      (text) => {
        const ends = [...text.matchAll(/\r\n/g)].map(({ index }) => index + 2);
        return spliced(text, ends[where % (ends.length || 1)] ?? 0, 0, piece);
      },
  );

/** Mostly few, since most texts become invalid with the second. */
const edits = (edit: fc.Arbitrary<Edit>): fc.Arbitrary<Edit[]> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.array(edit, { maxLength: 1 }) },
    { weight: 1, arbitrary: fc.array(edit, { minLength: 2, maxLength: 5 }) },
  );

/** Texts of a corpus after some edits, or none. Latin-1 throughout, so that a character is a byte. */
export const mutated = (corpus: readonly string[], pieces: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...corpus), edits(fc.oneof(cut, repeat, change, insert(pieces), insertLine(pieces))))
    .map(([text, edits]) => edits.reduce((edited, edit) => edit(edited), text));
