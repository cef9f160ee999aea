import { z } from "zod";
import { sinkNames } from "../kinds.ts";
import { instant, page, timestamp } from "./parts.ts";

/** Bodies of the record's sinks (docs/guides/siem.md#what-is-guaranteed). */

export const sinkRead = z
  .object({
    sink: z.enum(sinkNames),
    batch: z.int().meta({ description: "The newest batch of seals that was delivered whole." }),
    undelivered: z.int().meta({ description: "Rows that are sealed and not delivered." }),
    lag_seconds: z.int().meta({ description: "Age of the first of them; 0 without any." }),
    delivered_at: timestamp.nullable(),
    failures: z.int().meta({ description: "Tries since the last delivery." }),
    failing_since: timestamp.nullable(),
    last_error: z.string().nullable(),
    retry_at: timestamp.nullable(),
  })
  .meta({ id: "Sink" });
export const sinkPage = page(sinkRead).meta({ id: "SinkPage" });

export const sinkReplay = z
  .strictObject({ since: instant.describe("ISO 8601 with offset: what was recorded from then on is delivered again.") })
  .meta({ id: "SinkReplay" });
