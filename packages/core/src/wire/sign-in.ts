import { z } from "zod";
import { consoleRoles, signInStatuses } from "../kinds.ts";
import { sentence, userSub } from "../names.ts";
import { page, pageQuery, timestamp } from "./parts.ts";

/** Bodies and queries of people's sign-ins (docs/guides/sign-in.md#sign-ins). */

export const signInsQuery = z.strictObject({ ...pageQuery, user_sub: userSub.optional() });

export const signInRead = z
  .object({
    sign_in_id: z.string(),
    status: z.enum(signInStatuses),
    user_sub: z.string().meta({ description: "`sub` at the provider." }),
    issuer: z.string().meta({ description: "Of the provider." }),
    name: z.string().nullable(),
    email: z.string().nullable(),
    roles: z.array(z.enum(consoleRoles)).readonly().meta({ description: "In the console, by the settings of now." }),
    begun_at: timestamp,
    expires_at: timestamp,
    ended_at: timestamp.nullable(),
    ended_by: z.string().nullable().meta({ description: "The label of a bearer, or the person's subject." }),
  })
  .meta({ id: "SignIn" });
export const signInPage = page(signInRead).meta({ id: "SignInPage" });

export const signInsEnd = z.strictObject({ user_sub: userSub, reason: sentence.optional() }).meta({ id: "SignInsEnd" });
export const signInsEnded = z.object({ ended: z.int().meta({ description: "How many ran." }) });
