import { perSource, type Source, sources } from "./sources.ts";

/** A sealed row: what names it, and its leaf. */
export interface Entry {
  readonly source: Source;
  readonly id: string;
  readonly leaf: Uint8Array;
}

export type Counts = Readonly<Record<Source, number>>;

const idBytes = 16;
const leafBytes = 32;
const entryBytes = idBytes + leafBytes;

/** Identifier and leaf of each row, one after the other, in the order of the tree. */
export const encodeEntries = (entries: readonly Entry[]): Uint8Array =>
  Buffer.concat(entries.flatMap(({ id, leaf }) => [Buffer.from(id.replaceAll("-", ""), "hex"), leaf]));

/** What {@link encodeEntries} wrote, given how many rows each source has; undefined where that is not what it holds. */
export function decodeEntries(bytes: Uint8Array, counts: Counts): readonly Entry[] | undefined {
  const order = sources.flatMap((source) => Array.from({ length: counts[source] }, () => source));
  if (bytes.byteLength !== order.length * entryBytes) return undefined;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return order.map((source, index) => {
    const at = index * entryBytes;
    const hex = buffer.toString("hex", at, at + idBytes);
    return { source, id: toUuid(hex), leaf: buffer.subarray(at + idBytes, at + entryBytes) };
  });
}

/** How many entries each source has. */
export const countsOf = (entries: readonly Entry[]): Counts => {
  const counts = { ...perSource(() => 0) };
  for (const { source } of entries) counts[source]++;
  return counts;
};

/** 32 hexadecimal digits as a UUID is written. */
const toUuid = (hex: string): string =>
  [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");

const digitsOf = (id: string): string => id.replaceAll("-", "");

/** The creation time in an identifier, in epoch milliseconds (RFC 9562 section 5.7). */
export const timeOfId = (id: string): number => Number.parseInt(digitsOf(id).slice(0, 12), 16);

/** Below every identifier that is made at that moment. */
export const firstIdAt = (epochMs: number): string => toUuid(epochMs.toString(16).padStart(12, "0").padEnd(32, "0"));

/** The month in which it was made, in UTC: `YYYY-MM`. */
export const monthOfId = (id: string): string => new Date(timeOfId(id)).toISOString().slice(0, 7);

/** The identifier right below; null below the lowest. */
export function idBefore(id: string): string | null {
  const value = BigInt(`0x${digitsOf(id)}`);
  return value === 0n ? null : toUuid((value - 1n).toString(16).padStart(32, "0"));
}
