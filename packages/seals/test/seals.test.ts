import { canonicalJson } from "@svc/tokens";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  checkProof,
  currentFormat,
  entriesOf,
  leafOf,
  makeProof,
  readSeal,
  type Sealed,
  sealHash,
  sources,
} from "../src/index.ts";
import { leafHash } from "../src/merkle.ts";
import { aKey, aRow, entriesFor, examine, isIntact, pinned, type SourcedRow, sealAll, uuidOf } from "./record.ts";

const key = await aKey();
const keys = await pinned(key);

const texts = fc.option(fc.string({ unit: "binary" }), { nil: null });
/** Rows in batches of any size, some empty; identifiers rise across all of them. */
const records = fc
  .array(fc.array(fc.record({ source: fc.constantFrom(...sources), text: texts }), { maxLength: 9 }), { maxLength: 5 })
  .map((batches) => {
    let n = 0;
    return batches.map((rows) => ({
      rows: rows.map(({ source, text }): SourcedRow => ({ source, row: aRow(source, ++n, text) })),
      through: uuidOf(++n),
    }));
  });
const rowsOf = (batches: readonly { rows: readonly SourcedRow[] }[]) => batches.flatMap(({ rows }) => rows);

describe("a sealed record", () => {
  test("verifies, for any rows and batches", async () => {
    await fc.assert(
      fc.asyncProperty(records, async (batches) => {
        const seals = await sealAll(batches, () => key);
        expect(isIntact(await examine(seals, rowsOf(batches), keys))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  const flip = (text: string, at: number): string => {
    const index = at % text.length;
    const other = text[index] === "A" ? "B" : "A";
    return text.slice(0, index) + other + text.slice(index + 1);
  };
  const flipByte = (bytes: Uint8Array, at: number): Uint8Array =>
    bytes.map((byte, index) => (index === at % bytes.length ? byte ^ 1 : byte));

  test("does not verify with any one character of a row, of a statement or any byte of a list changed", async () => {
    const nonEmpty = records.filter((batches) => rowsOf(batches).length > 0);
    const where = fc.constantFrom("row", "statement", "list");
    await fc.assert(
      fc.asyncProperty(nonEmpty, where, fc.nat(), fc.nat(), async (batches, place, which, at) => {
        const seals = [...(await sealAll(batches, () => key))];
        const rows = [...rowsOf(batches)];
        if (place === "row") {
          const index = which % rows.length;
          const { source, row } = rows[index] as SourcedRow;
          const columns = Object.keys(row);
          const column = columns[at % columns.length] ?? "";
          const value = row[column];
          rows[index] = { source, row: { ...row, [column]: value ? flip(value, at) : "A" } };
        } else {
          const holding = place === "list" ? seals.filter(({ entries }) => entries.length > 0) : seals;
          const chosen = holding[which % holding.length] as Sealed;
          seals[seals.indexOf(chosen)] =
            place === "list"
              ? { ...chosen, entries: flipByte(chosen.entries, at) }
              : { ...chosen, statement: flip(chosen.statement, at) };
        }
        expect(isIntact(await examine(seals, rows, keys))).toBe(false);
      }),
      { numRuns: 150 },
    );
  });

  test("reads its rows only from the exact list that was sealed", async () => {
    await fc.assert(
      fc.asyncProperty(records, fc.nat(), async (batches, at) => {
        const [sealed] = await sealAll([{ rows: rowsOf(batches), through: uuidOf(999) }], () => key);
        const seal = sealed && readSeal(sealed.statement)?.seal;
        if (sealed === undefined || seal === undefined || sealed.entries.length === 0) return;
        expect(entriesOf(seal, sealed.entries)).toHaveLength(rowsOf(batches).length);
        expect(entriesOf(seal, flipByte(sealed.entries, at))).toBeUndefined();
        expect(entriesOf(seal, sealed.entries.subarray(1))).toBeUndefined();
      }),
    );
  });

  test("does not verify with any row removed, inserted or repeated", async () => {
    const nonEmpty = records.filter((batches) => rowsOf(batches).length > 0);
    const how = fc.constantFrom("removed", "twice", "moved");
    await fc.assert(
      fc.asyncProperty(nonEmpty, how, fc.nat(), async (batches, act, which) => {
        const seals = await sealAll(batches, () => key);
        const rows = [...rowsOf(batches)];
        const index = which % rows.length;
        const chosen = rows[index] as SourcedRow;
        if (act === "removed") rows.splice(index, 1);
        else if (act === "twice") rows.push(chosen);
        else rows[index] = { ...chosen, source: sources.find((source) => source !== chosen.source) ?? chosen.source };
        expect(isIntact(await examine(seals, rows, keys))).toBe(false);
      }),
      { numRuns: 60 },
    );
  });
});

const three = [1, 2, 3].map((n) => ({
  rows: [{ source: "decision" as const, row: aRow("decision", n * 10) }],
  through: uuidOf(n * 10 + 5),
}));

test("a leaf is the canonical JSON of its row, for any row", () => {
  fc.assert(
    fc.property(fc.constantFrom(...sources), texts, fc.nat(), (source, text, n) => {
      const row = aRow(source, n, text);
      // In an order of its own.
      const shuffled = Object.fromEntries(Object.entries(row).toReversed());
      const bytes = canonicalJson({ source, format: currentFormat, row });
      expect(leafOf(source, currentFormat, shuffled)).toEqual(leafHash(bytes));
    }),
  );
});

describe("the chain", () => {
  const faultsOf = async (seals: readonly Sealed[], given = keys) =>
    (await examine(seals, rowsOf(three), given)).seals.map(({ faults }) => faults);

  test.each<[string, (seals: readonly Sealed[]) => readonly (Sealed | undefined)[], readonly string[][]]>([
    ["a first seal removed", ([, b, c]) => [b, c], [["unreadable"], ["unreadable"]]],
    ["a middle seal removed", ([a, , c]) => [a, c], [[], ["unreadable"]]],
    ["two seals swapped", ([a, b, c]) => [a, c, b], [[], ["unreadable"], ["unreadable"]]],
    ["a repeated seal", ([a, b, c]) => [a, a, b, c], [[], ["unreadable"], ["unreadable"], ["unreadable"]]],
  ])("is broken by %s", async (_name, change, want) => {
    const changed = change(await sealAll(three, () => key)).filter((seal) => seal !== undefined);
    expect(await faultsOf(changed)).toEqual(want);
  });

  test("is broken where a seal was made again, by the same key", async () => {
    const [first, , third] = await sealAll(three, () => key);
    const [, second] = await sealAll([three[0] as never, { rows: [], through: uuidOf(25) }], () => key);
    expect(await faultsOf([first, second, third] as Sealed[])).toEqual([[], ["not_chained"], ["not_chained"]]);
  });

  test("a superseded key's seals are authenticated by the next key's, though only that one is given", async () => {
    const next = await aKey();
    const seals = await sealAll(three, (batch) => (batch < 3 ? key : next));
    const { seals: checked } = await examine(seals, rowsOf(three), await pinned(next));
    expect(checked.map(({ faults, isPinned }) => [faults, isPinned])).toEqual([
      [[], false],
      [[], false],
      [[], true],
    ]);
  });

  test("seals of another key are not authenticated, though they introduce it", async () => {
    const otherKey = await aKey();
    const seals = await sealAll(three, () => otherKey);
    const { seals: checked } = await examine(seals, rowsOf(three), keys);
    expect(checked.some(({ isPinned }) => isPinned)).toBe(false);
  });

  test("a seal that names the key without its signature is rejected", async () => {
    const impostor = { ...(await aKey()), kid: key.kid };
    expect(await faultsOf(await sealAll(three, (batch) => (batch < 3 ? key : impostor)))).toEqual([
      [],
      [],
      ["signature"],
    ]);
  });
});

describe("a proof", () => {
  const rows = Array.from({ length: 13 }, (_, n): SourcedRow => ({ source: "decision", row: aRow("decision", n + 1) }));
  const prove = async (index: number, signer = key) => {
    const [sealed] = await sealAll([{ rows, through: uuidOf(99) }], () => signer);
    const row = rows[index]?.row ?? {};
    return makeProof({ source: "decision", row, statement: sealed?.statement ?? "", entries: entriesFor(rows), index });
  };

  test.each(rows.map((_, index) => index))("of row %i holds", async (index) => {
    expect(await checkProof(await prove(index), keys)).toMatchObject({ ok: true, seal: { batch: 1 } });
  });

  test.each([
    ["another row", { row: aRow("decision", 5) }],
    ["a value changed", { row: { ...aRow("decision", 4), target: "b" } }],
    ["a column more", { row: { ...aRow("decision", 4), later: "b" } }],
    ["another source", { source: "mint" as const }],
    ["another place", { leaf_index: 4 }],
    ["a place outside of the tree", { leaf_index: 13 }],
    ["another size", { tree_size: 14 }],
    ["a shorter path", { path: [] }],
    ["a path of no hashes", { path: ["!", "!", "!", "!"] }],
  ])("with %s is invalid", async (_name, change) => {
    const proof = { ...(await prove(3)), ...change };
    expect(await checkProof(proof, keys)).toEqual({ ok: false, cause: "not_included" });
  });

  test("by an unknown key, or without a seal, is invalid", async () => {
    expect(await checkProof(await prove(3, await aKey()), keys)).toEqual({ ok: false, cause: "unknown_key" });
    expect(await checkProof({ ...(await prove(3)), seal: "a.b.c" }, keys)).toEqual({ ok: false, cause: "unreadable" });
  });
});

test("a statement has the hash of the previous one, and its key once", async () => {
  const seals = await sealAll(three, () => key);
  const [first, second] = seals.map(({ statement }) => readSeal(statement)?.seal);
  expect(second?.previous).toBe(sealHash(seals[0]?.statement ?? ""));
  expect([first?.publicJwk, second?.publicJwk]).toEqual([key.publicJwk, null]);
});
