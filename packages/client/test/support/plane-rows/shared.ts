import type { AuthzClient } from "../../../src/index.ts";

/** One method of a plane: its request, a response and the result. */
export interface Row {
  readonly name: string;
  readonly call: (svc: AuthzClient) => Promise<unknown>;
  readonly route: string;
  readonly query?: Record<string, string>;
  readonly body?: object;
  readonly bearer: string;
  readonly response: [status: number, body: unknown];
  readonly want: unknown;
}

export const t = "2026-01-01T00:00:00.000Z";
export const lastPage = { next_cursor: null, limit: 50 };
export const sessionRow = {
  session_id: "s",
  status: "active",
  scope: "expenses",
  user_sub: "ada",
  policy_version: 1,
  hop_budget: 4,
  consented_by: "admin",
  consented_at: t,
  expires_at: t,
  revoked_at: null,
  revoked_by: null,
  revoked_reason: null,
};
export const signInRow = {
  sign_in_id: "s",
  status: "ended",
  user_sub: "ada",
  issuer: "https://idp.test",
  name: "Ada Lovelace",
  email: null,
  roles: ["audit"],
  begun_at: t,
  expires_at: t,
  ended_at: t,
  ended_by: "alice",
};
export const signIn = {
  signInId: "s",
  status: "ended",
  userSub: "ada",
  issuer: "https://idp.test",
  name: "Ada Lovelace",
  email: null,
  roles: ["audit"],
  begunAt: t,
  expiresAt: t,
  endedAt: t,
  endedBy: "alice",
};
export const sinkRow = {
  sink: "webhook",
  batch: 7,
  undelivered: 3,
  lag_seconds: 61,
  delivered_at: t,
  failures: 1,
  failing_since: t,
  last_error: "answered 503",
  retry_at: null,
};
export const sink = {
  sink: "webhook",
  batch: 7,
  undelivered: 3,
  lagSeconds: 61,
  deliveredAt: t,
  failures: 1,
  failingSince: t,
  lastError: "answered 503",
  retryAt: null,
};
export const session = {
  sessionId: "s",
  status: "active",
  scope: "expenses",
  userSub: "ada",
  policyVersion: 1,
  hopBudget: 4,
  consentedBy: "admin",
  consentedAt: t,
  expiresAt: t,
  revokedAt: null,
  revokedBy: null,
  revokedReason: null,
};
export const block = { kind: "tool", ref: "http:till/pay", reason: "r", until: null };
