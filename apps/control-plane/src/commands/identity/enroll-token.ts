import { type EnrollmentDeps, enrollTokenHash } from "./begin-enrollment.ts";

export interface IssueEnrollToken {
  readonly agent: string;
  readonly ttlSeconds: number;
  /** The label of the bearer. */
  readonly issuedBy: string;
}

export type EnrollTokenIssued =
  | { readonly kind: "issued"; readonly enrollToken: string; readonly expiresAtMs: number }
  | { readonly kind: "agent_not_found" }
  | { readonly kind: "agent_revoked" };

/**
 * A credential for one enrollment of one agent, so that a workload can enroll itself
 * (docs/reference/identity.md#enrollment).
 */
export async function issueEnrollToken(
  { clock, ids, secrets, identities, enrollments }: EnrollmentDeps,
  { agent, ttlSeconds, issuedBy }: IssueEnrollToken,
): Promise<EnrollTokenIssued> {
  const identity = await identities.byName(agent);
  if (identity === undefined) return { kind: "agent_not_found" };
  if (identity.status === "revoked") return { kind: "agent_revoked" };
  const enrollToken = secrets.next();
  const issuedAtMs = clock.nowMs();
  const expiresAtMs = issuedAtMs + ttlSeconds * 1000;
  await enrollments.issueToken({
    tokenHash: enrollTokenHash(enrollToken),
    agentId: identity.agentId,
    agent,
    issuedBy,
    issuedAtMs,
    expiresAtMs,
    eventId: ids.next(),
  });
  return { kind: "issued", enrollToken, expiresAtMs };
}
