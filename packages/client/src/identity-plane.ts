import { enrollmentResponse } from "@svc/core";
import type { AgentProver } from "@svc/hop";
import { z } from "zod";
import {
  type AgentIdentity,
  type EnrollmentOutcome,
  enrollmentOutcome,
  identityRead,
  type Revocations,
  revocationsRead,
} from "./identity-bodies.ts";
import type { PageQuery } from "./pages.ts";
import { type CallOptions, type Plane, segment } from "./plane.ts";

/** What goes along with an enrollment; nothing of it is required. */
export interface Enroll {
  /** What the agent says of itself: kept as said, and nothing is decided by it. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
  /**
   * An OIDC ID token of the person responsible, its `nonce` the RFC 7638 thumbprint of the agent's key. Without one the
   * enrollment ends `quarantined`.
   */
  readonly principalAssertion?: string | undefined;
  /** A token for one enrollment, in place of the admin bearer. */
  readonly enrollToken?: string | undefined;
}

/** Agents' identities (contract: Identity). Reads go under the identity reader's bearer, else audit's, else admin's. */
export interface IdentityPlane {
  /** `GET /v1/identity/agents/{name}`. */
  of(name: string, options?: CallOptions): Promise<AgentIdentity>;
  /** `GET /v1/identity/agents/by-id/{agent_id}`. */
  byId(agentId: string, options?: CallOptions): Promise<AgentIdentity>;
  /** `GET /v1/identity/revocations`; `since` is inclusive. */
  revocations(
    query?: PageQuery & { readonly since?: string | Date | undefined },
    options?: CallOptions,
  ): Promise<Revocations>;
  /**
   * Enrolls this client's agent: presents its public key, and signs the server's challenge with it. Under the admin
   * bearer, or an `enrollToken`. Enrolling grants nothing.
   *
   * @throws {TypeError} where the client holds no agent key
   */
  enroll(enrollment?: Enroll, options?: CallOptions): Promise<EnrollmentOutcome>;
  /** `POST /v1/agents/{agent_id}/revoke`, under the admin bearer: final, and idempotent. */
  revoke(
    agentId: string,
    revocation?: { readonly reason?: string | undefined },
    options?: CallOptions,
  ): Promise<AgentIdentity>;
}

export interface IdentityPlanes {
  readonly identity: Plane;
  readonly admin: Plane;
  /** Without any bearer. */
  readonly open: Plane;
}

/** The audience of a proof (RFC 8414 section 2). */
const serverMetadata = z.object({ issuer: z.string().min(1) });

export function identityPlane(planes: IdentityPlanes, prover: AgentProver | undefined): IdentityPlane {
  const agents = "/v1/identity/agents";
  return {
    of: async (name, options) =>
      planes.identity.ask({ method: "GET", path: `${agents}/${segment(name)}` }, identityRead, options),
    byId: async (agentId, options) =>
      planes.identity.ask({ method: "GET", path: `${agents}/by-id/${segment(agentId)}` }, identityRead, options),
    revocations: ({ since, limit, cursor } = {}, options) => {
      const query = { since, limit, cursor };
      return planes.identity.ask({ method: "GET", path: "/v1/identity/revocations", query }, revocationsRead, options);
    },
    enroll: async (enrollment = {}, options) => {
      if (!prover) throw new TypeError("enrolling needs identityKey and agentName");
      return enroll(planes, prover, enrollment, options);
    },
    revoke: async (agentId, { reason } = {}, options) => {
      const path = `/v1/agents/${segment(agentId)}/revoke`;
      return planes.admin.ask({ method: "POST", path, body: { reason } }, identityRead, options);
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
  const { issuer } = await open.ask(metadata, serverMetadata, options);
  const body = {
    agent: prover.agentName,
    jwk: await prover.publicJwk(),
    claims,
    principal_assertion: principalAssertion,
    enroll_token: enrollToken,
  };
  const begin = { method: "POST", path: "/v1/identity/enrollments", body, expected: 201 } as const;
  const begun = await (enrollToken === undefined ? admin : open).ask(begin, enrollmentResponse, options);
  const proof = await prover.answer(begun.challenge, issuer);
  const path = `/v1/identity/enrollments/${segment(begun.enrollment_id)}/complete`;
  return open.ask({ method: "POST", path, body: { proof } }, enrollmentOutcome, options);
}
