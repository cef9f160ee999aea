import { createHmac, timingSafeEqual } from "node:crypto";

/** What a cursor was made for: it opens nothing else. */
export interface CursorUse {
  readonly route: string;
  /** The filters of the query, as sent. */
  readonly filter: Readonly<Record<string, string>>;
}

const macBytes = 16;

/** An opaque, signed keyset cursor: base64url of a MAC and the position after which the next page starts. */
export const sealCursor = (key: Uint8Array, use: CursorUse, position: string): string =>
  Buffer.concat([mac(key, use, position), Buffer.from(position)]).toString("base64url");

/** The position; undefined for a cursor that was altered, or made for another route or filter. */
export function openCursor(key: Uint8Array, use: CursorUse, cursor: string): string | undefined {
  const bytes = Buffer.from(cursor, "base64url");
  // Two spellings of the same bytes would be two cursors.
  if (bytes.length <= macBytes || bytes.toString("base64url") !== cursor) return undefined;
  const position = bytes.toString("utf8", macBytes);
  return timingSafeEqual(bytes.subarray(0, macBytes), mac(key, use, position)) ? position : undefined;
}

function mac(key: Uint8Array, { route, filter }: CursorUse, position: string): Buffer {
  const sorted = Object.entries(filter).sort(([a], [b]) => (a < b ? -1 : 1));
  const message = JSON.stringify([route, sorted, position]);
  return createHmac("sha256", key).update(message).digest().subarray(0, macBytes);
}
