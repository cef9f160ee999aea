import { z } from "zod";

/** One page of a list (specification: Page envelope). */
export interface Page<Item> {
  readonly data: readonly Item[];
  readonly page: {
    /** Null on the last page. */
    readonly nextCursor: string | null;
    readonly limit: number;
  };
}

/** What every paged read takes. */
export interface PageQuery {
  /** 1-200; the control plane's default is 50. */
  readonly limit?: number | undefined;
  /** `page.nextCursor` of the page before, of the same query. */
  readonly cursor?: string | undefined;
}

export const pageInfo = z
  .object({ next_cursor: z.string().nullable(), limit: z.int() })
  .transform(({ next_cursor, limit }) => ({ nextCursor: next_cursor, limit }));

export const pageOf = <Item extends z.ZodType>(item: Item) => z.object({ data: z.array(item), page: pageInfo });
