import { type KeyRefusal, readPublicKey, sha256Base64url } from "@svc/tokens";
import type { Binding, NewEnrollment } from "../../ports/enrollments.ts";
import type { AgentIdentity } from "../../ports/identities.ts";
import type { CommandDeps } from "../deps.ts";

export type EnrollmentDeps = Pick<
  CommandDeps,
  "clock" | "ids" | "secrets" | "identities" | "enrollments" | "identityProvider"
>;

export interface BeginEnrollment {
  readonly agent: string;
  /** Not validated yet. */
  readonly jwk: unknown;
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
  readonly principalAssertion?: string | undefined;
  readonly enrollToken?: string | undefined;
  /** The label of the admin bearer; undefined if the enroll token is the credential. */
  readonly begunBy: string | undefined;
}

export type Begun =
  | ({ readonly kind: "begun" } & Pick<NewEnrollment, "enrollmentId" | "challenge" | "expiresAtMs">)
  | { readonly kind: "unauthorized" }
  | { readonly kind: "agent_not_found" }
  | { readonly kind: "agent_revoked" }
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

export const enrollTokenHash = (token: string): Uint8Array => Buffer.from(sha256Base64url(token), "base64url");

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
