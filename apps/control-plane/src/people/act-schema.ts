import { agentName, blockKinds, blockRef, userSub } from "@svc/core";
import { z } from "zod";

/** What administrators do from pages, as an address and a sealed question hold it. */
export const actSchema = z.union([
  z
    .strictObject({ act: z.enum(["set_block", "lift_block"]), kind: z.enum(blockKinds), ref: z.string() })
    .refine(({ kind, ref }) => blockRef.safeParse({ kind, ref }).success, "must name what the kind can block"),
  z.strictObject({ act: z.literal("end_session"), ref: z.uuid() }),
  z.strictObject({ act: z.literal("end_sessions"), ref: userSub }),
  z.strictObject({ act: z.enum(["revoke_agent", "lift_quarantine"]), ref: agentName }),
]);
