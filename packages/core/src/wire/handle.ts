import { z } from "zod";
import { agentName, dataClassList, scopeName } from "../names.ts";
import { jwt, timestamp } from "./parts.ts";

/** Bodies of the enforcement plane, and of sessions beside another. */

/** The access token of an OAuth client: 32 random bytes, base64url. It names a session at one resource. */
export const handlePattern = /^svc_at_[A-Za-z0-9_-]{43}$/;

export const redeemRequest = z
  .strictObject({
    handle: z.string().regex(handlePattern, "must be an access token of this service"),
    resource: z.url().max(2_048).meta({ description: "The guarded resource that it was presented to (RFC 8707)." }),
  })
  .meta({ id: "HandleRedeem" });

/** A session, and what its caller takes hop 1 with. */
const grantedSession = {
  session_id: z.string(),
  scope: scopeName,
  agent: agentName.meta({ description: "The entry agent that acts: the target of hop 1." }),
  data_class: dataClassList.meta({ description: "What hop 1 narrows to." }),
  root_grant: jwt.meta({ description: "Of its own for each answer." }),
};

export const redeemResponse = z
  .object({
    ...grantedSession,
    client_id: z.string(),
    expires_at: timestamp.meta({ description: "Of the session." }),
    handle_expires_at: timestamp,
  })
  .meta({ id: "RedeemedHandle" });
export type RedeemResponse = z.output<typeof redeemResponse>;

export const sessionBesideRequest = z
  .strictObject({ token: jwt.meta({ description: "The caller's current-hop token. It is not spent." }) })
  .meta({ id: "SessionBesideRead" });

/** A running session that the same person consented to for the same caller. */
export const sessionBeside = z.object({ ...grantedSession, expires_at: timestamp }).meta({ id: "SessionBeside" });

export type SessionBeside = z.output<typeof sessionBeside>;

/** Newest first. There are few, so they have no pages. */
export const sessionsBeside = z.object({ data: z.array(sessionBeside) });
