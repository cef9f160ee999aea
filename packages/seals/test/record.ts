import { generatePrivateJwk, importIssuerKey, type SigningKey, verificationKeyOf } from "@svc/tokens";
import {
  type CheckedSeal,
  chainWalk,
  columnsOf,
  compareRows,
  currentFormat,
  type Entry,
  entriesOf,
  idOf,
  leafOf,
  perSource,
  type Row,
  type Sealed,
  type Source,
  signSeal,
  sourceFacts,
  sources,
  type TamperedRow,
} from "../src/index.ts";

export const aKey = async (): Promise<SigningKey> => importIssuerKey(await generatePrivateJwk());
export const pinned = async (...keys: readonly SigningKey[]) =>
  new Map(await Promise.all(keys.map(async (key) => [key.kid, await verificationKeyOf(key)] as const)));

/** The n-th identifier there is. */
export const uuidOf = (n: number): string => `00000000-0000-7000-8000-${n.toString(16).padStart(12, "0")}`;

/** A row whose every other column holds `text`. */
export const aRow = (source: Source, n: number, text: string | null = "a"): Row => ({
  ...Object.fromEntries((columnsOf(currentFormat, source) ?? []).map((column) => [column, text])),
  [sourceFacts[source].id]: uuidOf(n),
});

export interface SourcedRow {
  readonly source: Source;
  readonly row: Row;
}

/** In the order of the tree. */
export const entriesFor = (rows: readonly SourcedRow[]): readonly Entry[] =>
  sources.flatMap((source) =>
    rows
      .filter((each) => each.source === source)
      .map(({ row }) => ({
        source,
        id: idOf(source, row) ?? "",
        leaf: leafOf(source, currentFormat, row) ?? new Uint8Array(),
      })),
  );

/** Seals the batches one after the other, each through the identifier that it ends with; `keyOf` names each one's key. */
export async function sealAll(
  batches: readonly { readonly rows: readonly SourcedRow[]; readonly through: string }[],
  keyOf: (batch: number) => SigningKey,
): Promise<readonly Sealed[]> {
  const seals: Sealed[] = [];
  for (const [index, { rows, through }] of batches.entries()) {
    const after = batches[index - 1]?.through ?? null;
    seals.push(
      await signSeal({
        key: keyOf(index + 1),
        batch: index + 1,
        previous: seals.at(-1)?.statement ?? null,
        sealedAtMs: 0,
        ranges: perSource(() => ({ after, through })),
        entries: entriesFor(rows),
        isNewKey: index === 0 || keyOf(index).kid !== keyOf(index + 1).kid,
      }),
    );
  }
  return seals;
}

export interface Findings {
  readonly seals: readonly CheckedSeal[];
  readonly lists: readonly number[];
  readonly rows: readonly TamperedRow[];
}

/** As an auditor does it: the chain, each list, each row of each range. */
export async function examine(
  seals: readonly Sealed[],
  rows: readonly SourcedRow[],
  keys: Awaited<ReturnType<typeof pinned>>,
): Promise<Findings> {
  const walk = chainWalk(keys);
  const checked: CheckedSeal[] = [];
  const lists: number[] = [];
  const tampered: TamperedRow[] = [];
  for (const [index, { statement, entries: list }] of seals.entries()) {
    const next = await walk.next({ batch: index + 1, statement });
    checked.push(next);
    if (next.seal === undefined) continue;
    const { seal } = next;
    const entries = entriesOf(seal, list);
    if (entries === undefined) lists.push(index + 1);
    for (const source of sources) {
      const { after, through } = seal.ranges[source];
      const within = rows.filter(({ source: of, row }) => {
        const id = idOf(source, row) ?? "";
        return of === source && (after === null || id > after) && id <= through;
      });
      tampered.push(
        ...compareRows({
          format: seal.format,
          source,
          entries: (entries ?? []).filter((entry) => entry.source === source),
          rows: within.map(({ row }) => row),
        }),
      );
    }
  }
  return { seals: checked, lists, rows: tampered };
}

export const isIntact = ({ seals, lists, rows }: Findings): boolean =>
  seals.every(({ faults }) => faults.length === 0) &&
  (seals.length === 0 || seals.at(-1)?.isPinned === true) &&
  lists.length === 0 &&
  rows.length === 0;
