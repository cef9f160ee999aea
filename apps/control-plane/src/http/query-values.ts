import { z } from "zod";

/** Readers of query text that more than one route shares. */

export const flagQuery = z
  .enum(["true", "false"], { error: "must be true or false" })
  .transform((word) => word === "true")
  .meta({ type: "boolean" });

/** The first instant that every part of the system can hold. */
const yearOne = Date.parse("0001-01-01T00:00:00Z");

/** What is recorded has milliseconds, so a bound between two of them is the later one. */
const toMs = (text: string): number => Date.parse(text) + (/\.\d{3}\d*[1-9]/.test(text) ? 1 : 0);

/** ISO 8601 with an offset, as epoch milliseconds. */
export const instantQuery = z.iso
  .datetime({ offset: true, error: "must be ISO 8601 with an offset, as 2026-01-31T12:00:00Z" })
  .transform(toMs)
  .refine((ms) => ms >= yearOne, "must not be before the year 1")
  .meta({ type: "string", format: "date-time" });

/** A span of time. */
export const spanQuery = {
  since: instantQuery.optional().meta({ description: "Inclusive; ISO 8601 with offset." }),
  until: instantQuery.optional().meta({ description: "Exclusive; ISO 8601 with offset." }),
};

/** A query with a span that does not end before it begins. */
export const withSpan = <Query extends z.ZodObject<typeof spanQuery>>(query: Query): Query =>
  query.refine(({ since, until }) => since === undefined || until === undefined || since <= until, {
    path: ["since"],
    message: "must not be after until",
  });

/** A version; absent, the latest is meant. */
export const versionQuery = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, "must be a whole number from 1 to 999999999")
  .transform(Number)
  .optional()
  .meta({ type: "integer", minimum: 1, maximum: 999_999_999, description: "Absent, the latest is read." });
