import * as core from "@svc/core";
import type { AgentProver } from "@svc/hop";
import type { Reason } from "./admin-plane.ts";
import { type FollowFrom, type FollowPorts, followEvents, type PushedEvent } from "./follow-events.ts";
import { type BodyOf, type CallOptions, type Plane, type RequestBody, segment } from "./plane.ts";

/** An agent's pinned identity: `anchorVersion` 0 and no keys until it first enrolled. */
export type AgentIdentity = BodyOf<typeof core.agentIdentity>;
/** A revoked agent, and the time from which a verifier refuses it. */
export type Revocation = BodyOf<typeof core.revocation>;
/** A page of revoked agents. Later revocations are of `asOf` or after: pass it as `since`. */
export type Revocations = BodyOf<typeof core.revocationPage>;
/** How an enrollment ended; `quarantined` carries the reason why the agent is not bound to a person. */
export type EnrollmentOutcome = BodyOf<typeof core.completionResponse>;
/** A token for one enrollment. */
export type EnrollToken = BodyOf<typeof core.enrollTokenResponse>;

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
  revocations(query?: RequestBody<typeof core.revocationsQuery>, options?: CallOptions): Promise<Revocations>;
  /**
   * `GET /v1/identity/revocations/stream`: what stops agents, as it is committed, until the signal aborts (docs/reference/identity.md#push).
   * After a cut it continues where it was. An event may come again.
   */
  follow(from?: FollowFrom, options?: CallOptions): AsyncIterable<PushedEvent>;
  /** `POST /v1/identity/enroll-tokens`, under the admin bearer: a token for one enrollment; 60-86400 s, default 3600. */
  issueEnrollToken(
    request: { readonly agent: string; readonly ttlSeconds?: number | undefined },
    options?: CallOptions,
  ): Promise<EnrollToken>;
  /**
   * Enrolls this client's agent: presents its public key, and signs the server's challenge with it. Under the admin
   * bearer, or an `enrollToken`. Enrolling grants nothing.
   * @throws {TypeError} where the client holds no agent key
   */
  enroll(enrollment?: Enroll, options?: CallOptions): Promise<EnrollmentOutcome>;
  /** `POST /v1/agents/{agent_id}/revoke`, under the admin bearer: final, and idempotent. */
  revoke(agentId: string, why?: Reason, options?: CallOptions): Promise<AgentIdentity>;
  /** `POST /v1/agents/{agent_id}/lift-quarantine`, under the admin bearer: the agent is as one that never enrolled. */
  liftQuarantine(agentId: string, why?: Reason, options?: CallOptions): Promise<AgentIdentity>;
}

export interface IdentityPlanes {
  readonly identity: Plane;
  readonly admin: Plane;
  /** Without any bearer. */
  readonly open: Plane;
  readonly push: FollowPorts;
}

/** The issuer is the audience of a proof. */
const issuerOf = core.serverMetadata.pick({ issuer: true });

export function identityPlane(planes: IdentityPlanes, prover: AgentProver | undefined): IdentityPlane {
  const { admin, identity } = planes;
  const agents = "/v1/identity/agents";
  return {
    of: async (name, options) => identity.get(`${agents}/${segment(name)}`, core.agentIdentity, options),
    byId: async (agentId, options) => identity.get(`${agents}/by-id/${segment(agentId)}`, core.agentIdentity, options),
    revocations: (query, options) => identity.get("/v1/identity/revocations", core.revocationPage, options, query),
    follow: (from = {}, options = {}) => followEvents(planes.push, from, options),
    issueEnrollToken: (request, options) =>
      admin.create("/v1/identity/enroll-tokens", core.enrollTokenResponse, options, request),
    enroll: async (enrollment = {}, options) => {
      if (!prover) throw new TypeError("enrolling needs identityKey and agentName");
      return enroll(planes, prover, enrollment, options);
    },
    revoke: async (agentId, why = {}, options) =>
      admin.post(`/v1/agents/${segment(agentId)}/revoke`, core.agentIdentity, options, why),
    liftQuarantine: async (agentId, why = {}, options) =>
      admin.post(`/v1/agents/${segment(agentId)}/lift-quarantine`, core.agentIdentity, options, why),
  };
}

async function enroll(
  { admin, open }: IdentityPlanes,
  prover: AgentProver,
  { claims, principalAssertion, enrollToken }: Enroll,
  options: CallOptions | undefined,
): Promise<EnrollmentOutcome> {
  const { issuer } = await open.get("/.well-known/oauth-authorization-server", issuerOf, options);
  const body = { agent: prover.agentName, jwk: await prover.publicJwk(), claims, principalAssertion, enrollToken };
  const { create } = enrollToken === undefined ? admin : open;
  const begun = await create("/v1/identity/enrollments", core.enrollmentResponse, options, body);
  const proof = await prover.proveChallenge(begun.challenge, issuer);
  const path = `/v1/identity/enrollments/${segment(begun.enrollmentId)}/complete`;
  return open.post(path, core.completionResponse, options, { proof });
}
