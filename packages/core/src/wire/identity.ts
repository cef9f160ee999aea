import { z } from "zod";
import { identityStatuses, quarantineReasons } from "../kinds.ts";
import { agentName } from "../names.ts";
import { jwt, page, pageQuery, reasonRequest, since, timestamp } from "./parts.ts";

/** Bodies and queries of the identity routes (docs/reference/identity.md#statuses). */

const maxClaimsLength = 8_192;

export const enrollmentRequest = z
  .strictObject({
    agent: agentName,
    jwk: z.record(z.string(), z.unknown()).meta({ description: "The agent's public key: EC P-256 or Ed25519." }),
    claims: z
      .record(z.string(), z.unknown())
      .refine(
        (claims) => JSON.stringify(claims).length <= maxClaimsLength,
        `must have at most ${maxClaimsLength} characters`,
      )
      .optional()
      .meta({ description: "What the agent says of itself: kept as said, and nothing is decided by it." }),
    principal_assertion: jwt
      .optional()
      .meta({ description: "OIDC ID token of the person responsible; its `nonce` is the key's RFC 7638 thumbprint." }),
    enroll_token: z.string().min(1).max(255).optional().meta({ description: "Good once, in place of a bearer." }),
  })
  .meta({ id: "EnrollmentCreate" });

export const enrollmentResponse = z
  .object({ enrollment_id: z.string(), challenge: z.string(), expires_at: timestamp })
  .meta({ id: "Enrollment" });

export const completionRequest = z
  .strictObject({
    proof: jwt.meta({ description: "`agent-proof+jwt` by the agent's key, its `nonce` the challenge." }),
  })
  .meta({ id: "EnrollmentComplete" });

export const completionResponse = z
  .discriminatedUnion("status", [
    z.object({ status: z.literal("enrolled"), agent_id: z.string(), anchor_version: z.int() }),
    z.object({ status: z.literal("quarantined"), reason: z.enum(quarantineReasons) }),
  ])
  .meta({ id: "EnrollmentOutcome" });

export const enrollTokenRequest = z
  .strictObject({
    agent: agentName,
    ttl_seconds: z.int().min(60).max(86_400).default(3_600),
  })
  .meta({ id: "EnrollTokenCreate" });

export const enrollTokenResponse = z
  .object({ enroll_token: z.string(), agent: z.string(), expires_at: timestamp })
  .meta({ id: "EnrollToken" });

export const revokeAgentRequest = reasonRequest.meta({ id: "AgentRevoke" });

export const liftQuarantineRequest = reasonRequest.meta({ id: "QuarantineLift" });

/** An agent's pinned identity (docs/reference/identity.md#statuses). Only an enrolled agent has keys. */
export const agentIdentity = z
  .object({
    agent_id: z.string(),
    agent: z.string(),
    status: z.enum(identityStatuses),
    /** 0 until it first enrolled; raised whenever a key is pinned. */
    anchor_version: z.int().min(0),
    jwks: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }),
    revoked: z.boolean(),
    revoked_reason: z.string().nullable(),
    as_of: timestamp,
  })
  .meta({ id: "AgentIdentity" });

export const revocation = z.object({ agent_id: z.string(), agent: z.string(), as_of: timestamp });
export const revocationPage = page(revocation)
  .extend({
    as_of: timestamp.meta({
      description: "Whatever joins the list later is of this time or after, so that `since` this time finds it.",
    }),
  })
  .meta({ id: "RevocationPage" });

export const revocationsQuery = z.strictObject({ ...pageQuery, since });
