import { z } from "zod";

/** Query parameters that several routes share: text on the wire, typed values behind the schema. */

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
