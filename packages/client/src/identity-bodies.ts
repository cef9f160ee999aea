import { agentIdentity, completionResponse, revocation, revocationPage } from "@svc/core";
import { z } from "zod";
import { pageInfo } from "./pages.ts";

/** Answers of the identity plane, out of their wire spelling. Times are ISO 8601, UTC. */

export const identityRead = agentIdentity.transform((body) => ({
  agentId: body.agent_id,
  agent: body.agent,
  status: body.status,
  anchorVersion: body.anchor_version,
  jwks: body.jwks,
  revoked: body.revoked,
  revokedReason: body.revoked_reason,
  asOf: body.as_of,
}));
/** An agent's pinned identity: `anchorVersion` 0 and no keys until it first enrolled. */
export type AgentIdentity = Readonly<z.output<typeof identityRead>>;

const revocationRead = revocation.transform(({ agent_id, agent, as_of }) => ({
  agentId: agent_id,
  agent,
  asOf: as_of,
}));
/** A revoked agent, and the time from which a verifier refuses it. */
export type Revocation = Readonly<z.output<typeof revocationRead>>;

export const revocationsRead = revocationPage
  .extend({ data: z.array(revocationRead), page: pageInfo })
  .transform(({ data, page, as_of }) => ({ data, page, asOf: as_of }));
/** A page of revoked agents. Whatever joins the list later is of `asOf` or after: ask again with it as `since`. */
export type Revocations = Readonly<z.output<typeof revocationsRead>>;

export const enrollmentOutcome = completionResponse.transform((body) =>
  body.status === "enrolled"
    ? { status: body.status, agentId: body.agent_id, anchorVersion: body.anchor_version }
    : { status: body.status, reason: body.reason },
);
/** How an enrollment ended; `quarantined` says why the agent could not be bound to a person. */
export type EnrollmentOutcome = Readonly<z.output<typeof enrollmentOutcome>>;
