import type { QuarantineReason } from "@svc/core";
import type { PublicJwk } from "@svc/tokens";
import type { Principal } from "./identity-provider.ts";

export interface Enrollments {
  /** Commits the token and its administrative event together. */
  issueToken(token: NewEnrollToken): Promise<void>;
  /** A fast answer; `begin` decides. */
  isTokenGood(use: TokenUse): Promise<boolean>;
  /** Spends the enroll token, if there is one, together with the enrollment; a database constraint decides. */
  begin(enrollment: NewEnrollment): Promise<"begun" | "token_refused" | "agent_revoked">;
  /** Uses up one try before the proof is checked, so that parallel requests get no more tries. */
  takeTry(enrollmentId: string, nowMs: number): Promise<PendingEnrollment | "unknown" | "over">;
  /**
   * Ends the enrollment once: pins the key if a person is bound to it and no other agent has it. Commits a new denial
   * epoch and an administrative event with it. A quarantine leaves an existing identity as it is.
   */
  complete(completion: CompleteEnrollment): Promise<Completion>;
}

/** Tokens are stored and found by their SHA-256. */
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

/** The person that is bound to the key, or the reason for none. */
export type Binding = { readonly principal: Principal } | { readonly quarantine: QuarantineReason };

export interface NewEnrollment {
  readonly enrollmentId: string;
  readonly agentId: string;
  readonly publicJwk: PublicJwk;
  /** RFC 7638. */
  readonly thumbprint: string;
  readonly challenge: string;
  /** JSON text as the agent sent it. */
  readonly claims: string | null;
  readonly binding: Binding;
  /** The label of the bearer; null if an enroll token was the credential. */
  readonly begunBy: string | null;
  readonly enrollTokenHash: Uint8Array | null;
  readonly begunAtMs: number;
  readonly expiresAtMs: number;
}

export interface PendingEnrollment extends Pick<NewEnrollment, "publicJwk" | "challenge"> {
  readonly agent: string;
}

export interface CompleteEnrollment {
  readonly enrollmentId: string;
  readonly eventId: string;
  readonly atMs: number;
}

/** `over`: another call completed it. */
export type Completion =
  | { readonly kind: "enrolled"; readonly agentId: string; readonly anchorVersion: number }
  | { readonly kind: "quarantined"; readonly reason: QuarantineReason }
  | { readonly kind: "agent_revoked" }
  | { readonly kind: "over" };
