/** 32 hexadecimal digits as a UUID is written. */
export const toUuid = (hex: string): string =>
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
