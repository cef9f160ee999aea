import { createHmac, timingSafeEqual } from "node:crypto";
import type { pagedQuery } from "@svc/core";
import type { z } from "zod";
import { invalidRequest } from "./api-error.ts";
import type { RawQuery } from "./query.ts";

/** The members of every paged query. */
export type Paging = z.output<typeof pagedQuery>;

/** Rows of a read that ended early: later ones may match, after `readTo`. */
export interface CutRows<Row> {
  readonly rows: readonly Row[];
  readonly readTo: string;
}

/** What a read returns for a page. */
export type FoundRows<Row> = readonly Row[] | CutRows<Row>;

/**
 * One page (docs/reference/conventions.md#pages). `read` gets one row beyond the limit: the surplus row shows that
 * there is a next page.
 * @throws {ApiError} `invalid_request` for a cursor that is foreign, altered, or of another filter.
 */
export async function readPage<Row>(
  key: Uint8Array,
  route: string,
  raw: RawQuery,
  { limit, cursor }: Paging,
  read: (request: { readonly after: string | undefined; readonly limit: number }) => Promise<FoundRows<Row>>,
  positionOf: (row: Row) => string,
) {
  const { cursor: _cursor, limit: _limit, ...filter } = raw;
  const use = { route, filter };
  const after = requireCursor(key, use, cursor);
  const found = await read({ after, limit: limit + 1 });
  const { rows, readTo } = "readTo" in found ? found : { rows: found, readTo: undefined };
  const next = rows[limit];
  const last = next && rows[limit - 1];
  const position = last === undefined ? readTo : positionOf(last);
  const nextCursor = position === undefined ? null : sealCursor(key, use, position);
  return { rows: rows.slice(0, limit), next, page: { nextCursor, limit } };
}

/** @throws {ApiError} `invalid_request` for a cursor that is foreign, altered, or of another filter. */
export function requireCursor(key: Uint8Array, use: CursorUse, cursor: string | undefined): string | undefined {
  const position = cursor === undefined ? undefined : openCursor(key, use, cursor);
  if (cursor !== undefined && position === undefined) {
    throw invalidRequest("The cursor is not one of this query.", [
      { path: "cursor", message: "must be next_cursor of a page with the same filters" },
    ]);
  }
  return position;
}

/** A cursor opens for this route and these filters of the query, as sent, alone. */
interface CursorUse {
  readonly route: string;
  readonly filter: RawQuery;
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
