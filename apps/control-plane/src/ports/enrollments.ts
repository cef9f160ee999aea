import type { QuarantineReason } from "@svc/core";
import type { PublicJwk } from "@svc/tokens";
import type { Principal } from "./identity-provider.ts";

export interface Enrollments {
  /** Commits the token and its administrative event, all or nothing. */
  issueToken(token: NewEnrollToken): Promise<void>;
  /** Whether an enroll token would be taken: a fast answer; `begin` decides. */
  isTokenGood(use: TokenUse): Promise<boolean>;
  /** Spends the enroll token, where there is one, with the enrollment: a database constraint decides. */
  begin(enrollment: NewEnrollment): Promise<"begun" | "token_refused" | "agent_revoked">;
  /** Takes one of the tries, before the proof is looked at, so that no number of parallel ones are more than allowed. */
  takeTry(enrollmentId: string, nowMs: number): Promise<PendingEnrollment | "unknown" | "over">;
  /**
   * Ends the enrollment, once: pins the key where somebody stands behind it and it is no other agent's, with a fresh
   * denial epoch and an administrative event, all or nothing. A quarantine leaves a present identity as it stands.
   */
  complete(completion: CompleteEnrollment): Promise<Completion>;
}

/** Tokens are kept and looked up as their SHA-256. */
export interface NewEnrollToken {
  readonly tokenHash: Uint8Array;
  readonly agentId: string;
  readonly agent: string;
  /** The label of the bearer. */
  readonly issuedBy: string;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  readonly eventId: string;
}

export interface TokenUse {
  readonly tokenHash: Uint8Array;
  readonly agentId: string;
  readonly nowMs: number;
}

/** Who stands behind the key, or why nobody does. */
export type Binding = { readonly principal: Principal } | { readonly quarantine: QuarantineReason };

export interface NewEnrollment {
  readonly enrollmentId: string;
  readonly agentId: string;
  readonly publicJwk: PublicJwk;
  /** RFC 7638. */
  readonly thumbprint: string;
  readonly challenge: string;
  /** JSON text, as the agent said it. */
  readonly claims: string | null;
  readonly binding: Binding;
  /** The label of the bearer; null where an enroll token was enough. */
  readonly begunBy: string | null;
  readonly enrollTokenHash: Uint8Array | null;
  readonly begunAtMs: number;
  readonly expiresAtMs: number;
}

export interface PendingEnrollment {
  readonly agent: string;
  readonly publicJwk: PublicJwk;
  readonly challenge: string;
}

export interface CompleteEnrollment {
  readonly enrollmentId: string;
  readonly eventId: string;
  readonly atMs: number;
}

export type Completion =
  | { readonly kind: "enrolled"; readonly agentId: string; readonly anchorVersion: number }
  | { readonly kind: "quarantined"; readonly reason: QuarantineReason }
  | { readonly kind: "agent_revoked" }
  /** Another call completed it. */
  | { readonly kind: "over" };
