import {
  completionRequest,
  completionResponse,
  enrollmentRequest,
  enrollmentResponse,
  enrollTokenRequest,
  enrollTokenResponse,
} from "@svc/core";
import { type KeyRefusal, parseStrictJson } from "@svc/tokens";
import { z } from "zod";
import { type Begun, beginEnrollment } from "../../commands/identity/begin-enrollment.ts";
import { type Completed, completeEnrollment } from "../../commands/identity/complete-enrollment.ts";
import { type EnrollTokenIssued, issueEnrollToken } from "../../commands/identity/enroll-token.ts";
import { ApiError } from "../../http/api-error.ts";
import { unauthorized } from "../../http/bearers.ts";
import type { App } from "../../http/endpoint.ts";
import { invalidRequest } from "../../http/issues.ts";
import { decodeJson, readJsonText } from "../../http/json-body.ts";
import { mount } from "../../http/mount.ts";
import { decodeQuery, readQuery } from "../../http/query.ts";
import { IdentityProviderUnavailable } from "../../ports/identity-provider.ts";
import type { Deps } from "../deps.ts";
import { agentNotFound } from "./agent-not-found.ts";

const tag = "Identity";
const enrollments = "/v1/identity/enrollments";

export function enrollmentRoutes(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "post",
      path: enrollments,
      access: "admin_if_sent",
      tag,
      summary: "Begin an enrollment: present a key and who vouches for it; sign the challenge to complete it.",
      reads: { mediaType: "application/json", schema: enrollmentRequest },
      replies: { 201: { description: "The challenge.", schema: enrollmentResponse } },
      errors: [
        "invalid_request",
        "payload_too_large",
        "unsupported_media_type",
        "agent_not_found",
        "agent_revoked",
        "database_unavailable",
        "identity_provider_unavailable",
      ],
    },
    async ({ c, caller }) => {
      const body = await readEnrollment(c.req.raw, caller !== undefined);
      decodeQuery(readQuery(c.req.raw.url), z.strictObject({}));
      const result = await beginEnrollment(deps, {
        agent: body.agent,
        jwk: body.jwk,
        claims: body.claims,
        principalAssertion: body.principal_assertion,
        enrollToken: body.enroll_token,
        begunBy: caller?.label,
      }).catch((error: unknown) => {
        if (error instanceof IdentityProviderUnavailable) deps.events.identityProviderUnavailable(error);
        throw error;
      });
      return c.json(toEnrollment(begun(result)), 201);
    },
  );

  mount(
    app,
    deps,
    {
      method: "post",
      path: `${enrollments}/{enrollment_id}/complete`,
      access: "none",
      tag,
      summary: "Complete an enrollment; the proof is the credential, and there are three tries.",
      body: completionRequest,
      replies: { 200: { description: "How it ended.", schema: completionResponse } },
      errors: ["invalid_proof", "enrollment_not_found", "enrollment_expired", "agent_revoked", "database_unavailable"],
    },
    async ({ c, params, body }) => {
      const result = await completeEnrollment(deps, { enrollmentId: params.enrollment_id, proof: body.proof });
      deps.events.completionAnswered(result);
      return c.json(toOutcome(result));
    },
  );

  mount(
    app,
    deps,
    {
      method: "post",
      path: "/v1/identity/enroll-tokens",
      access: "admin",
      tag,
      summary: "Issue a token that is good for one enrollment, so that a workload can enroll itself.",
      body: enrollTokenRequest,
      replies: { 201: { description: "The token.", schema: enrollTokenResponse } },
      errors: ["agent_not_found", "agent_revoked", "database_unavailable"],
    },
    async ({ c, caller, body: { agent, ttl_seconds: ttlSeconds } }) => {
      const token = issued(await issueEnrollToken(deps, { agent, ttlSeconds, issuedBy: caller.label }));
      const expiresAt = new Date(token.expiresAtMs).toISOString();
      return c.json({ enroll_token: token.enrollToken, agent, expires_at: expiresAt }, 201);
    },
  );
}

/** Without a bearer the body must bring a credential, and one that cannot be read brings none. */
async function readEnrollment(request: Request, hasBearer: boolean) {
  const text = await readJsonText(request).catch((error: unknown) => {
    throw hasBearer || isTooLarge(error) ? error : unauthorized();
  });
  if (!hasBearer && !bringsToken(text)) throw unauthorized();
  return decodeJson(text, enrollmentRequest);
}

const isTooLarge = (error: unknown): boolean => error instanceof ApiError && error.code === "payload_too_large";

function bringsToken(text: string): boolean {
  const parsed = parseStrictJson(text);
  return parsed.ok && z.object({ enroll_token: z.string() }).safeParse(parsed.value).success;
}

const agentRevoked = (): ApiError => new ApiError("agent_revoked", "The agent is revoked, which is final.");

function begun(result: Begun): Extract<Begun, { kind: "begun" }> {
  switch (result.kind) {
    case "begun":
      return result;
    case "unauthorized":
      throw unauthorized();
    case "agent_not_found":
      throw agentNotFound();
    case "agent_revoked":
      throw agentRevoked();
    case "key_refused":
      throw invalidRequest("The key cannot be enrolled.", [{ path: "jwk", message: keyFaults[result.cause] }]);
  }
}

const keyFaults: Readonly<Record<KeyRefusal, string>> = {
  malformed: "must be a JWK (RFC 7517)",
  private: "must be the public key alone; this private key was disclosed, so make another",
  symmetric: "must be a public key, not a shared secret",
  unsupported: "must be an EC P-256 or Ed25519 key for signatures",
  unsealable: "must be a JWK (RFC 7517)",
};

const toEnrollment = ({ enrollmentId, challenge, expiresAtMs }: Extract<Begun, { kind: "begun" }>) => ({
  enrollment_id: enrollmentId,
  challenge,
  expires_at: new Date(expiresAtMs).toISOString(),
});

function toOutcome(result: Completed) {
  switch (result.kind) {
    case "enrolled":
      return { status: result.kind, agent_id: result.agentId, anchor_version: result.anchorVersion };
    case "quarantined":
      return { status: result.kind, reason: result.reason };
    case "invalid_proof":
      throw new ApiError("invalid_proof", "The proof is not one by the presented key over this challenge.");
    case "enrollment_not_found":
      throw new ApiError("enrollment_not_found", "There is no such enrollment.");
    case "enrollment_expired":
      throw new ApiError("enrollment_expired", "The enrollment is over: begin another.");
    case "agent_revoked":
      throw agentRevoked();
  }
}

function issued(result: EnrollTokenIssued): Extract<EnrollTokenIssued, { kind: "issued" }> {
  switch (result.kind) {
    case "issued":
      return result;
    case "agent_not_found":
      throw agentNotFound();
    case "agent_revoked":
      throw agentRevoked();
  }
}
