import type { enrollmentRequest, enrollTokenRequest } from "@svc/core";
import { type KeyRefusal, readPublicKey, sha256Base64url, verifyActorProof } from "@svc/tokens";
import type { Binding, Completion, NewEnrollment, PendingEnrollment } from "../ports/enrollments.ts";
import type { AgentIdentity, Changed, ChangeOfIdentity } from "../ports/identities.ts";
import type { BodyOf, CommandDeps } from "./deps.ts";
import { isUuid } from "./identifier.ts";

type EnrollmentDeps = Pick<
  CommandDeps,
  "clock" | "ids" | "secrets" | "identities" | "enrollments" | "identityProvider"
>;

interface BeginEnrollment extends BodyOf<typeof enrollmentRequest> {
  /** The label of the admin bearer; undefined if the enroll token is the credential. */
  readonly begunBy: string | undefined;
}

type Begun =
  | ({ readonly kind: "begun" } & Pick<NewEnrollment, "enrollmentId" | "challenge" | "expiresAtMs">)
  | { readonly kind: "unauthorized" | "agent_not_found" | "agent_revoked" | "no_identity_provider" }
  | { readonly kind: "key_refused"; readonly cause: KeyRefusal };

const challengeLifetimeMs = 300_000;

/**
 * Opens an enrollment: binds the key to a person, and returns a challenge that the agent's key must sign
 * (docs/reference/identity.md#enrollment). The assertion is a credential, so it is not stored.
 * @throws {IdentityProviderUnavailable} if the assertion could not be verified; nothing was spent.
 */
export async function beginEnrollment(deps: EnrollmentDeps, command: BeginEnrollment): Promise<Begun> {
  const identity = await deps.identities.byName(command.agent);
  const tokenHash = command.enrollToken === undefined ? null : enrollTokenHash(command.enrollToken);
  if (tokenHash !== null && !(await opens(deps, tokenHash, identity))) return { kind: "unauthorized" };
  if (identity === undefined) return { kind: "agent_not_found" };
  if (identity.status === "revoked") return { kind: "agent_revoked" };
  // It could only end in quarantine, which stops a running agent; that is for an administrator to do.
  if (tokenHash !== null && deps.identityProvider === undefined) return { kind: "no_identity_provider" };
  const reading = await readPublicKey(command.jwk);
  if (!reading.ok) return { kind: "key_refused", cause: reading.cause };
  const { publicJwk, kid: thumbprint } = reading.key;
  const binding = await bindPrincipal(deps, command.principalAssertion, thumbprint);
  const begunAtMs = deps.clock.nowMs();
  const enrollment = {
    enrollmentId: deps.ids.next(),
    agentId: identity.agentId,
    publicJwk,
    thumbprint,
    challenge: deps.secrets.next(),
    claims: command.claims === undefined ? null : JSON.stringify(command.claims),
    binding,
    begunBy: command.begunBy ?? null,
    enrollTokenHash: tokenHash,
    begunAtMs,
    expiresAtMs: begunAtMs + challengeLifetimeMs,
  };
  const outcome = await deps.enrollments.begin(enrollment);
  if (outcome === "token_refused") return { kind: "unauthorized" };
  return outcome === "begun" ? { kind: outcome, ...enrollment } : { kind: outcome };
}

const enrollTokenHash = (token: string): Uint8Array => Buffer.from(sha256Base64url(token), "base64url");

/** A token of another agent counts as none, so that it does not reveal which agents are registered. */
const opens = async ({ enrollments, clock }: EnrollmentDeps, tokenHash: Uint8Array, identity?: AgentIdentity) =>
  identity !== undefined &&
  (await enrollments.isTokenGood({ tokenHash, agentId: identity.agentId, nowMs: clock.nowMs() }));

/** In the contract's order. The completion finds the last reason, KEY_IN_USE. */
async function bindPrincipal(
  { identityProvider }: EnrollmentDeps,
  assertion: string | undefined,
  thumbprint: string,
): Promise<Binding> {
  if (assertion === undefined) return { quarantine: "NO_PRINCIPAL" };
  if (identityProvider === undefined) return { quarantine: "NO_IDENTITY_PROVIDER" };
  const principal = await identityProvider.principalOf(assertion, thumbprint);
  return principal === undefined ? { quarantine: "PRINCIPAL_INVALID" } : { principal };
}

/** The issuer is the audience of the proof. */
type CompleteDeps = Pick<CommandDeps, "clock" | "ids" | "enrollments" | "issuer">;

export type Completed =
  | Exclude<Completion, { kind: "over" }>
  /** `enrollment_expired`: too late, too many tries, or completed before. */
  | { readonly kind: "enrollment_not_found" | "enrollment_expired" | "invalid_proof" };

/**
 * Ends an enrollment with a proof that the agent holds its key, an `agent-proof+jwt` over the challenge
 * (docs/reference/identity.md#enrollment).
 */
export async function completeEnrollment(deps: CompleteDeps, enrollmentId: string, proof: string): Promise<Completed> {
  if (!isUuid(enrollmentId)) return { kind: "enrollment_not_found" };
  const pending = await deps.enrollments.takeTry(enrollmentId, deps.clock.nowMs());
  if (pending === "unknown") return { kind: "enrollment_not_found" };
  if (pending === "over") return { kind: "enrollment_expired" };
  if (!(await isProven(deps, pending, proof))) return { kind: "invalid_proof" };
  const outcome = await deps.enrollments.complete({ enrollmentId, eventId: deps.ids.next(), atMs: deps.clock.nowMs() });
  return outcome.kind === "over" ? { kind: "enrollment_expired" } : outcome;
}

async function isProven(
  { issuer, clock }: CompleteDeps,
  { agent, publicJwk, challenge }: PendingEnrollment,
  proof: string,
): Promise<boolean> {
  const reading = await readPublicKey(publicJwk);
  if (!reading.ok) return false;
  const keysOf = (name: string) => (name === agent ? [reading.key] : undefined);
  const nowSeconds = clock.nowMs() / 1000;
  return (await verifyActorProof(proof, { nonce: challenge }, { keysOf, audience: issuer, nowSeconds })).ok;
}

interface IssueEnrollToken extends BodyOf<typeof enrollTokenRequest> {
  /** The label of the bearer. */
  readonly issuedBy: string;
}

type EnrollTokenIssued =
  | { readonly kind: "issued"; readonly enrollToken: string; readonly expiresAtMs: number }
  | { readonly kind: "agent_not_found" | "agent_revoked" };

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
  const tokenHash = enrollTokenHash(enrollToken);
  const { agentId } = identity;
  const eventId = ids.next();
  await enrollments.issueToken({ tokenHash, agentId, agent, issuedBy, issuedAtMs, expiresAtMs, eventId });
  return { kind: "issued", enrollToken, expiresAtMs };
}

/**
 * Revokes an agent for ever. After it resolves, every new decision, exchange, renewal and mint refuses a chain with the
 * agent (docs/reference/routes.md#present-denials-and-the-hop-endpoints). Undefined for an unknown agent.
 */
export const revokeAgent = (deps: ChangeDeps, change: Change): Promise<Changed | undefined> =>
  changeIdentity(deps, change, deps.identities.revoke);

/**
 * Ends a quarantine on an administrator's word: the agent is then as one that never enrolled, and may enroll
 * (docs/reference/identity.md#quarantine). Undefined for an unknown agent.
 */
export const liftQuarantine = (deps: ChangeDeps, change: Change): Promise<Changed | undefined> =>
  changeIdentity(deps, change, deps.identities.liftQuarantine);

type ChangeDeps = Pick<CommandDeps, "clock" | "ids" | "identities">;
type Change = Pick<ChangeOfIdentity, "agentId" | "reason" | "by" | "onPage">;

const changeIdentity = async (
  { clock, ids }: ChangeDeps,
  change: Change,
  commit: (change: ChangeOfIdentity) => Promise<Changed | undefined>,
): Promise<Changed | undefined> =>
  isUuid(change.agentId) ? commit({ ...change, eventId: ids.next(), atMs: clock.nowMs() }) : undefined;
