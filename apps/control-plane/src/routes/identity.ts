import {
  agentIdentity,
  completionRequest,
  completionResponse,
  enrollmentRequest,
  enrollmentResponse,
  enrollTokenRequest,
  enrollTokenResponse,
  fromWire,
  liftQuarantineRequest,
  revocationPage,
  revocationsQuery,
  revokeAgentRequest,
} from "@svc/core";
import { type KeyRefusal, parseStrictJson, toJwks } from "@svc/tokens";
import { etag } from "hono/etag";
import { isUuid } from "../commands/identifier.ts";
import {
  beginEnrollment,
  completeEnrollment,
  issueEnrollToken,
  liftQuarantine,
  revokeAgent,
} from "../commands/identity.ts";
import { ApiError, invalidRequest, requireKind } from "../http/api-error.ts";
import { unauthorized } from "../http/bearers.ts";
import { decodeJson, readJsonText } from "../http/json-body.ts";
import { readPage } from "../http/page.ts";
import { requireNoQuery } from "../http/query.ts";
import { type App, routesOf } from "../http/routes.ts";
import { iso, withTimes } from "../http/times.ts";
import type { AgentIdentity, Revocation } from "../ports/identities.ts";
import { IdentityProviderUnavailable } from "../ports/identity-provider.ts";
import { agentNotFound } from "./agents.ts";
import type { Deps } from "./deps.ts";

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
      const begun = requireKind(result, "begun", {
        unauthorized,
        agent_not_found: agentNotFound,
        agent_revoked: agentRevoked,
        no_identity_provider: () =>
          invalidRequest(
            "No OpenID provider is configured (SVC_IDP_ISSUER), so this enrollment could only quarantine the agent.",
            [],
          ),
        key_refused: ({ cause }) =>
          invalidRequest("The key cannot be enrolled.", [{ path: "jwk", message: keyFaults[cause] }]),
      });
      return withTimes(begun);
    },
  });

  route("POST /v1/identity/enrollments/{enrollment_id}/complete", {
    access: "none",
    summary: "Complete an enrollment; the proof is the credential, and there are three tries.",
    body: completionRequest,
    reply: { description: "How it ended.", schema: completionResponse },
    errors: ["invalid_proof", "enrollment_not_found", "enrollment_expired", "agent_revoked", "database_unavailable"],
    handle: async ({ params: { enrollmentId }, body: { proof } }) => {
      const result = await completeEnrollment(deps, enrollmentId, proof);
      deps.events.completionAnswered(result);
      if (result.kind === "quarantined") return { status: result.kind, reason: result.reason };
      const { kind, ...enrolled } = requireKind(result, "enrolled", {
        invalid_proof: "The proof is not one by the presented key over this challenge.",
        enrollment_not_found: "There is no such enrollment.",
        enrollment_expired: "The enrollment is over: begin another.",
        agent_revoked: agentRevoked,
      });
      return { status: kind, ...enrolled };
    },
  });

  route("POST /v1/identity/enroll-tokens", {
    access: "admin",
    summary: "Issue a token that is good for one enrollment, so that a workload can enroll itself.",
    body: enrollTokenRequest,
    reply: { status: 201, description: "The token.", schema: enrollTokenResponse },
    errors: ["agent_not_found", "agent_revoked", "database_unavailable"],
    handle: async ({ caller, body }) => {
      const result = await issueEnrollToken(deps, { ...body, issuedBy: caller.label });
      const issued = requireKind(result, "issued", { agent_not_found: agentNotFound, agent_revoked: agentRevoked });
      return { agent: body.agent, ...withTimes(issued) };
    },
  });
}

/** Without a bearer the body must bring a credential, and one that cannot be read brings none. */
async function readEnrollment(request: Request, hasBearer: boolean) {
  const text = await readJsonText(request).catch((error: unknown) => {
    throw hasBearer || isTooLarge(error) ? error : withoutCredential();
  });
  if (!hasBearer && !bringsToken(text)) throw withoutCredential();
  return fromWire(enrollmentRequest, decodeJson(text, enrollmentRequest));
}

const withoutCredential = (): ApiError => unauthorized("Neither a bearer token nor an enroll token was sent.");
const isTooLarge = (error: unknown): boolean => error instanceof ApiError && error.code === "payload_too_large";

const bearerInBody = enrollmentRequest.pick({ enroll_token: true }).required().loose();

function bringsToken(text: string): boolean {
  const parsed = parseStrictJson(text);
  return parsed.ok && bearerInBody.safeParse(parsed.value).success;
}

const agentRevoked = (): ApiError => new ApiError("agent_revoked", "The agent is revoked, which is final.");

const keyFaults: Readonly<Record<KeyRefusal, string>> = {
  malformed: "must be a JWK (RFC 7517)",
  private: "must be the public key alone; this private key was disclosed, so make another",
  symmetric: "must be a public key, not a shared secret",
  unsupported: "must be an EC P-256 or Ed25519 key for signatures",
  unsealable: "must be a JWK (RFC 7517)",
};

const read = {
  access: "identity",
  reply: { description: "The identity, with an ETag.", schema: agentIdentity },
  otherReplies: { 304: { description: "It is the one that `If-None-Match` names." } },
  /** A reader may keep an identity to find out whether it changed, never to decide by it. */
  headers: { "Cache-Control": "private, no-cache" },
  errors: ["agent_not_found", "database_unavailable"],
} as const;

export function identityRoutes(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Identity");
  app.use("/v1/identity/agents/*", etag());

  route("GET /v1/identity/agents/{name}", {
    ...read,
    summary: "Read an agent's pinned identity by its name.",
    handle: async ({ params: { name } }) => toAnswer(await deps.identities.byName(name)),
  });

  route("GET /v1/identity/agents/by-id/{agent_id}", {
    ...read,
    summary: "Read an agent's pinned identity by its id.",
    handle: async ({ params: { agentId } }) =>
      toAnswer(isUuid(agentId) ? await deps.identities.byId(agentId) : undefined),
  });

  revocationsRoute(app, deps);

  route("POST /v1/agents/{agent_id}/revoke", {
    access: "admin",
    summary: "Revoke an agent for good, and with it every chain it is in.",
    body: revokeAgentRequest,
    bodyOptional: true,
    reply: { description: "The identity, revoked.", schema: agentIdentity },
    errors: ["agent_not_found", "database_unavailable"],
    handle: async ({ caller, params: { agentId }, body: { reason = null } }) => {
      const revoked = await revokeAgent(deps, { agentId, reason, by: caller.label });
      if (revoked?.isNew) deps.events.agentRevoked();
      return toAnswer(revoked?.identity);
    },
  });

  route("POST /v1/agents/{agent_id}/lift-quarantine", {
    access: "admin",
    summary: "End an agent's quarantine: it is then as one that never enrolled.",
    body: liftQuarantineRequest,
    bodyOptional: true,
    reply: { description: "The identity; unchanged if it was not quarantined.", schema: agentIdentity },
    errors: ["agent_not_found", "database_unavailable"],
    handle: async ({ caller, params: { agentId }, body: { reason = null } }) =>
      toAnswer((await liftQuarantine(deps, { agentId, reason, by: caller.label }))?.identity),
  });
}

/** @throws {ApiError} `agent_not_found`. */
function toAnswer(found: AgentIdentity | undefined) {
  if (found === undefined) throw agentNotFound();
  return {
    ...withTimes(found),
    jwks: { keys: toJwks(found.keys).keys.map((key) => ({ ...key })) },
    revoked: found.status === "revoked",
  };
}

const path = "/v1/identity/revocations";

function revocationsRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Identity");
  route(`GET ${path}`, {
    access: "identity",
    summary: "List revoked agents in the order of their revocation; read again with `as_of` of the list as `since`.",
    query: revocationsQuery,
    reply: { description: "One page.", schema: revocationPage },
    errors: ["database_unavailable"],
    handle: async ({ query, rawQuery }) => {
      let asOfMs = 0;
      const read = async ({ after, limit }: { readonly after: string | undefined; readonly limit: number }) => {
        const before = after === undefined ? undefined : readPosition(after);
        // Before the rows: what commits in between is in the page and after this time, and so is read again.
        asOfMs = before?.asOfMs ?? (await deps.identities.revocationsWholeUntilMs());
        return deps.identities.revocations({ sinceMs: query.since, after: before?.last, limit });
      };
      const positionOf = (last: Revocation): string => [asOfMs, last.asOfMs, last.agentId].join(" ");
      const { rows, page } = await readPage(deps.cursorKey, path, rawQuery, query, read, positionOf);
      return { data: rows.map((row) => withTimes(row)), page, asOf: iso(asOfMs) };
    },
  });
}

/**
 * `as_of` is the first page's on every page: on a later one it would promise what earlier pages, read before, cannot
 * hold.
 */
function readPosition(text: string) {
  const [asOfMs, lastAsOfMs, agentId = ""] = text.split(" ");
  return { asOfMs: Number(asOfMs), last: { asOfMs: Number(lastAsOfMs), agentId } };
}
