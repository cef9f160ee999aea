import { z } from "zod";
import { blockKinds, pushedKinds } from "../kinds.ts";
import { since, timestamp } from "./parts.ts";

/** The data of the events of the push (docs/reference/identity.md#push). A member that does not concern an event is null. */
export const pushedEvent = z.object({
  event_id: z.string(),
  ts: timestamp,
  kind: z.enum(pushedKinds),
  session_id: z.string().nullable(),
  agent: z.string().nullable(),
  block: z.object({ kind: z.enum(blockKinds), ref: z.string() }).nullable(),
  /** Of the issuer's key. */
  kid: z.string().nullable(),
  /** Tokens that were issued earlier are refused. */
  not_before: timestamp.nullable(),
});

/** The data of `heartbeat`: what was committed before this time, by the database's clock, has been sent. */
export const pushHeartbeat = z.object({ as_of: timestamp });

export const pushQuery = z.strictObject({ since });
