import {
  agentIdentity,
  completionResponse,
  enrollmentResponse,
  enrollTokenResponse,
  revocationPage,
  type revocationsQuery,
  serverMetadata,
} from "@svc/core";
import type { AgentProver } from "@svc/hop";
import type { Reason } from "./admin-plane.ts";
import type { AgentIdentity, EnrollmentOutcome, EnrollToken, RequestBody, Revocations } from "./bodies.ts";
import { type CallOptions, type Plane, segment } from "./plane.ts";

/** Options of an enrollment. */
export interface Enroll {
  /** The agent's own claims: kept as sent; no decision uses them. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
  /**
   * An OIDC ID token of the person responsible, its `nonce` the RFC 7638 thumbprint of the agent's key. Without one the
   * enrollment ends `quarantined`.
   */
  readonly principalAssertion?: string | undefined;
  /** A token for one enrollment, in place of the admin bearer. */
  readonly enrollToken?: string | undefined;
}

/**
 * Agents' identities (docs/reference/identity.md#statuses). Reads go under the identity reader's bearer, else audit's,
 * else admin's.
 */
export interface IdentityPlane {
  /** `GET /v1/identity/agents/{name}`. */
  of(name: string, options?: CallOptions): Promise<AgentIdentity>;
  /** `GET /v1/identity/agents/by-id/{agent_id}`. */
  byId(agentId: string, options?: CallOptions): Promise<AgentIdentity>;
  /** `GET /v1/identity/revocations`; `since` is inclusive. */
  revocations(query?: RequestBody<typeof revocationsQuery>, options?: CallOptions): Promise<Revocations>;
  /** `POST /v1/identity/enroll-tokens`, under the admin bearer: a token for one enrollment; 60-86400 s, default 3600. */
  issueEnrollToken(
    request: { readonly agent: string; readonly ttlSeconds?: number | undefined },
    options?: CallOptions,
  ): Promise<EnrollToken>;
  /**
   * Enrolls this client's agent: presents its public key, and signs the server's challenge with it. Under the admin
   * bearer, or an `enrollToken`. Enrolling grants nothing.
   *
   * @throws {TypeError} where the client holds no agent key
   */
  enroll(enrollment?: Enroll, options?: CallOptions): Promise<EnrollmentOutcome>;
  /** `POST /v1/agents/{agent_id}/revoke`, under the admin bearer: final, and idempotent. */
  revoke(agentId: string, why?: Reason, options?: CallOptions): Promise<AgentIdentity>;
}

export interface IdentityPlanes {
  readonly identity: Plane;
  readonly admin: Plane;
  /** Without any bearer. */
  readonly open: Plane;
}

/** The issuer is the audience of a proof. */
const issuerOf = serverMetadata.pick({ issuer: true });

export function identityPlane(planes: IdentityPlanes, prover: AgentProver | undefined): IdentityPlane {
  const agents = "/v1/identity/agents";
  return {
    of: async (name, options) =>
      planes.identity.request({ method: "GET", path: `${agents}/${segment(name)}` }, agentIdentity, options),
    byId: async (agentId, options) =>
      planes.identity.request({ method: "GET", path: `${agents}/by-id/${segment(agentId)}` }, agentIdentity, options),
    revocations: async (query, options) =>
      planes.identity.request({ method: "GET", path: "/v1/identity/revocations", query }, revocationPage, options),
    issueEnrollToken: async (body, options) => {
      const request = { method: "POST", path: "/v1/identity/enroll-tokens", body, expected: 201 } as const;
      return planes.admin.request(request, enrollTokenResponse, options);
    },
    enroll: async (enrollment = {}, options) => {
      if (!prover) throw new TypeError("enrolling needs identityKey and agentName");
      return enroll(planes, prover, enrollment, options);
    },
    revoke: async (agentId, why = {}, options) => {
      const path = `/v1/agents/${segment(agentId)}/revoke`;
      return planes.admin.request({ method: "POST", path, body: why }, agentIdentity, options);
    },
  };
}

async function enroll(
  { admin, open }: IdentityPlanes,
  prover: AgentProver,
  { claims, principalAssertion, enrollToken }: Enroll,
  options: CallOptions | undefined,
): Promise<EnrollmentOutcome> {
  const metadata = { method: "GET", path: "/.well-known/oauth-authorization-server" } as const;
  const { issuer } = await open.request(metadata, issuerOf, options);
  const body = {
    agent: prover.agentName,
    jwk: await prover.publicJwk(),
    claims,
    principalAssertion,
    enrollToken,
  };
  const begin = { method: "POST", path: "/v1/identity/enrollments", body, expected: 201 } as const;
  const begun = await (enrollToken === undefined ? admin : open).request(begin, enrollmentResponse, options);
  const proof = await prover.proveChallenge(begun.challenge, issuer);
  const path = `/v1/identity/enrollments/${segment(begun.enrollmentId)}/complete`;
  return open.request({ method: "POST", path, body: { proof } }, completionResponse, options);
}
