import { type CursorUse, openCursor, sealCursor } from "./cursor.ts";
import { invalidRequest } from "./issues.ts";
import type { RawQuery } from "./query.ts";

/** What every paged query holds. */
export interface Paging {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** One page that was asked for. */
export interface PageRequest {
  readonly limit: number;
  /** Where the page before ended. */
  readonly after: string | undefined;
  readonly use: CursorUse;
}

/** @throws {ApiError} `invalid_request` for a cursor that is foreign, altered, or of another filter. */
export function openPage(key: Uint8Array, route: string, raw: RawQuery, { limit, cursor }: Paging): PageRequest {
  const { cursor: _cursor, limit: _limit, ...filter } = raw;
  const use = { route, filter };
  const after = cursor === undefined ? undefined : openCursor(key, use, cursor);
  if (cursor !== undefined && after === undefined) {
    throw invalidRequest("The cursor is not one of this query.", [
      { path: "cursor", message: "must be next_cursor of a page with the same filters" },
    ]);
  }
  return { limit, after, use };
}

/**
 * `Page[T]` (docs/reference/conventions.md#pages) of rows that were read one beyond the limit: the surplus row says
 * that there is a next page.
 */
export function toPage<Row, Item>(
  key: Uint8Array,
  { limit, use }: PageRequest,
  rows: readonly Row[],
  toItem: (row: Row) => Item,
  positionOf: (row: Row) => string,
) {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    data: rows.slice(0, limit).map(toItem),
    page: { nextCursor: last === undefined ? null : sealCursor(key, use, positionOf(last)), limit },
  };
}
