import { z } from "zod";
import { type CursorUse, openCursor, sealCursor } from "./cursor.ts";
import { invalidRequest } from "./issues.ts";
import type { RawQuery } from "./query.ts";

const pageLimit = z
  .string()
  .regex(/^\d{1,3}$/, "must be a whole number from 1 to 200")
  .transform(Number)
  .refine((limit) => limit >= 1 && limit <= 200, "must be a whole number from 1 to 200")
  .default(50)
  .meta({ type: "integer", minimum: 1, maximum: 200, default: 50, description: "Page size." });

/** The query parameters of every paged read. */
export const pageQuery = {
  limit: pageLimit,
  cursor: z.string().max(4096).optional().meta({ description: "`page.next_cursor` of the page before." }),
};

/** One page that was asked for. */
export interface PageRequest {
  readonly limit: number;
  /** Where the page before ended. */
  readonly after: string | undefined;
  readonly use: CursorUse;
}

/** @throws {ApiError} `invalid_request` for a cursor that is foreign, altered, or of another filter. */
export function openPage(
  key: Uint8Array,
  route: string,
  raw: RawQuery,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): PageRequest {
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
 * `Page[T]` (specification: Page envelope) of rows that were read one beyond the limit: the surplus row says that there
 * is a next page.
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
    page: { next_cursor: last === undefined ? null : sealCursor(key, use, positionOf(last)), limit },
  };
}
