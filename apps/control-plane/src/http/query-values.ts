import { z } from "zod";

/** Readers of query text that more than one route shares. */

export const flagQuery = z
  .enum(["true", "false"], { error: "must be true or false" })
  .transform((word) => word === "true")
  .meta({ type: "boolean" });

/** The first instant that every part of the system can hold. */
const yearOne = Date.parse("0001-01-01T00:00:00Z");

/** ISO 8601 with an offset, as epoch milliseconds. */
export const instantQuery = z.iso
  .datetime({ offset: true, error: "must be ISO 8601 with an offset, as 2026-01-31T12:00:00Z" })
  .transform((text) => Date.parse(text))
  .refine((ms) => ms >= yearOne, "must not be before the year 1")
  .meta({ type: "string", format: "date-time" });

/** A version; absent, the latest is meant. */
export const versionQuery = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, "must be a whole number from 1 to 999999999")
  .transform(Number)
  .optional()
  .meta({ type: "integer", minimum: 1, maximum: 999_999_999, description: "Absent, the latest is read." });
