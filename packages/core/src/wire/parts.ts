import { z } from "zod";
import { sentence } from "../names.ts";

/** Parts that bodies and queries of several planes share. */

export const jwt = z.string().min(1).max(16_384);

/** An answer's time: ISO 8601, UTC. */
export const timestamp = z.iso.datetime();

/** A body that says why, or nothing. The record keeps it. */
export const reasonRequest = z.strictObject({ reason: sentence.optional().describe("Kept in the record.") });

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

export const flagQuery = z
  .enum(["true", "false"], { error: "must be true or false" })
  .transform((word) => word === "true")
  .meta({ type: "boolean" });

/** The first instant that every part of the system can hold. */
const yearOne = Date.parse("0001-01-01T00:00:00Z");

/** Recorded times have milliseconds, so a bound between two of them is the later one. */
const toMs = (text: string): number => Date.parse(text) + (/\.\d{3}\d*[1-9]/.test(text) ? 1 : 0);

/** ISO 8601 with an offset; read as epoch milliseconds. */
export const instant = z.iso
  .datetime({ offset: true, error: "must be ISO 8601 with an offset, as 2026-01-31T12:00:00Z" })
  .transform(toMs)
  .refine((ms) => ms >= yearOne, "must not be before the year 1")
  .meta({ type: "string", format: "date-time" });

export const since = instant.optional().meta({ description: "Inclusive; ISO 8601 with offset." });
const until = instant.optional().meta({ description: "Exclusive; ISO 8601 with offset." });

/** A span of time. */
export const span = { since, until };

/** A query whose span does not end before it begins. */
export const withSpan = <Query extends z.ZodObject<typeof span>>(query: Query): Query =>
  query.refine((asked) => asked.since === undefined || asked.until === undefined || asked.since <= asked.until, {
    path: ["since"],
    message: "must not be after until",
  });

/** A version; the latest where absent. */
export const version = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, "must be a whole number from 1 to 999999999")
  .transform(Number)
  .optional()
  .meta({ type: "integer", minimum: 1, maximum: 999_999_999, description: "Absent, the latest is read." });
