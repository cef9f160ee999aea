import { z } from "zod";
import { errorCodes, oauthErrorCodes } from "../error-code.ts";

export const errorEnvelope = z
  .object({
    error: z.object({ code: z.enum(errorCodes), message: z.string() }),
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: "ErrorEnvelope" });
export type ErrorEnvelope = z.output<typeof errorEnvelope>;

/** RFC 6749 section 5.2. */
export const oauthError = z.object({ error: z.enum(oauthErrorCodes), error_description: z.string() });
