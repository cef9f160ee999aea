import { z } from "zod";

/** `Page[T]` (docs/reference/conventions.md#pages). */
export const page = <Item extends z.ZodType>(item: Item) =>
  z.object({ data: z.array(item), page: z.object({ next_cursor: z.string().nullable(), limit: z.int() }) });

const limitRule = "must be a whole number from 1 to 200";

/** The query parameters of every paged read. */
export const pageQuery = {
  limit: z
    .string()
    .regex(/^\d{1,3}$/, limitRule)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= 200, limitRule)
    .default(50)
    .meta({ type: "integer", minimum: 1, maximum: 200, default: 50, description: "Page size." }),
  cursor: z.string().max(4096).optional().meta({ description: "`page.next_cursor` of the page before." }),
};

/** The query of a route that takes no parameters. */
export const noQuery = z.strictObject({});

/** The query of a list without filters. */
export const pagedQuery = z.strictObject(pageQuery);
