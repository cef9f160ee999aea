import {
  completionRequest,
  completionResponse,
  enrollmentRequest,
  enrollmentResponse,
  enrollTokenRequest,
  enrollTokenResponse,
  fromWire,
} from "@svc/core";
import { type KeyRefusal, parseStrictJson } from "@svc/tokens";
import { type Begun, beginEnrollment } from "../../commands/identity/begin-enrollment.ts";
import { type Completed, completeEnrollment } from "../../commands/identity/complete-enrollment.ts";
import { issueEnrollToken } from "../../commands/identity/enroll-token.ts";
import { ApiError } from "../../http/api-error.ts";
import { unauthorized } from "../../http/bearers.ts";
import type { App } from "../../http/endpoint.ts";
import { invalidRequest } from "../../http/issues.ts";
import { decodeJson, readJsonText } from "../../http/json-body.ts";
import { requireNoQuery } from "../../http/query.ts";
import { requireKind } from "../../http/require-kind.ts";
import { routesOf } from "../../http/routes.ts";
import { withTimes } from "../../http/times.ts";
import { IdentityProviderUnavailable } from "../../ports/identity-provider.ts";
import { agentNotFound } from "../agents.ts";
import type { Deps } from "../deps.ts";

export function enrollmentRoutes(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Identity");
  route("POST /v1/identity/enrollments", {
    access: "admin_if_sent",
    summary: "Begin an enrollment: present a key and who vouches for it; sign the challenge to complete it.",
    reads: { mediaType: "application/json", schema: enrollmentRequest },
    reply: { status: 201, description: "The challenge.", schema: enrollmentResponse },
    errors: [
      ...(["invalid_request", "payload_too_large", "unsupported_media_type", "agent_not_found"] as const),
      ...(["agent_revoked", "database_unavailable", "identity_provider_unavailable"] as const),
    ],
    handle: async ({ c, caller }) => {
      const body = await readEnrollment(c.req.raw, caller !== undefined);
      requireNoQuery(c.req.raw.url);
      const result = await beginEnrollment(deps, { ...body, begunBy: caller?.label }).catch((error: unknown) => {
        if (error instanceof IdentityProviderUnavailable) deps.events.identityProviderUnavailable(error);
        throw error;
      });
      return withTimes(begun(result));
    },
  });

  route("POST /v1/identity/enrollments/{enrollment_id}/complete", {
    access: "none",
    summary: "Complete an enrollment; the proof is the credential, and there are three tries.",
    body: completionRequest,
    reply: { description: "How it ended.", schema: completionResponse },
    errors: ["invalid_proof", "enrollment_not_found", "enrollment_expired", "agent_revoked", "database_unavailable"],
    handle: async ({ params: { enrollmentId }, body: { proof } }) => {
      const result = await completeEnrollment(deps, { enrollmentId, proof });
      deps.events.completionAnswered(result);
      return toOutcome(result);
    },
  });

  route("POST /v1/identity/enroll-tokens", {
    access: "admin",
    summary: "Issue a token that is good for one enrollment, so that a workload can enroll itself.",
    body: enrollTokenRequest,
    reply: { status: 201, description: "The token.", schema: enrollTokenResponse },
    errors: ["agent_not_found", "agent_revoked", "database_unavailable"],
    handle: async ({ caller, body: { agent, ttlSeconds } }) => {
      const result = await issueEnrollToken(deps, { agent, ttlSeconds, issuedBy: caller.label });
      return {
        agent,
        ...withTimes(requireKind(result, "issued", { agent_not_found: agentNotFound, agent_revoked: agentRevoked })),
      };
    },
  });
}

/** Without a bearer the body must bring a credential, and one that cannot be read brings none. */
async function readEnrollment(request: Request, hasBearer: boolean) {
  const text = await readJsonText(request).catch((error: unknown) => {
    throw hasBearer || isTooLarge(error) ? error : unauthorized();
  });
  if (!hasBearer && !bringsToken(text)) throw unauthorized();
  return fromWire(enrollmentRequest, decodeJson(text, enrollmentRequest));
}

const isTooLarge = (error: unknown): boolean => error instanceof ApiError && error.code === "payload_too_large";

const bearerInBody = enrollmentRequest.pick({ enroll_token: true }).required().loose();

function bringsToken(text: string): boolean {
  const parsed = parseStrictJson(text);
  return parsed.ok && bearerInBody.safeParse(parsed.value).success;
}

const agentRevoked = (): ApiError => new ApiError("agent_revoked", "The agent is revoked, which is final.");

const begun = (result: Begun) =>
  requireKind(result, "begun", {
    unauthorized,
    agent_not_found: agentNotFound,
    agent_revoked: agentRevoked,
    key_refused: ({ cause }) =>
      invalidRequest("The key cannot be enrolled.", [{ path: "jwk", message: keyFaults[cause] }]),
  });

const keyFaults: Readonly<Record<KeyRefusal, string>> = {
  malformed: "must be a JWK (RFC 7517)",
  private: "must be the public key alone; this private key was disclosed, so make another",
  symmetric: "must be a public key, not a shared secret",
  unsupported: "must be an EC P-256 or Ed25519 key for signatures",
  unsealable: "must be a JWK (RFC 7517)",
};

function toOutcome(result: Completed) {
  if (result.kind === "quarantined") return { status: result.kind, reason: result.reason };
  const { agentId, anchorVersion } = requireKind(result, "enrolled", {
    invalid_proof: "The proof is not one by the presented key over this challenge.",
    enrollment_not_found: "There is no such enrollment.",
    enrollment_expired: "The enrollment is over: begin another.",
    agent_revoked: agentRevoked,
  });
  return { status: "enrolled" as const, agentId, anchorVersion };
}
