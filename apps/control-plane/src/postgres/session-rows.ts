import type { SessionFacts, SessionStatus, SessionSummary } from "@svc/core";
import type { SessionFilter } from "../ports/audit-reads.ts";
import type { Sql, Transaction } from "./database.ts";

/** Of session `s`: the row's members are the facts. */
export const sessionColumns = (sql: Sql) => sql`
  s.session_id as "sessionId", s.user_sub as "userSub", s.scope, s.policy_version as "policyVersion",
  s.hop_budget as "hopBudget", s.consented_by as "consentedBy", s.consented_at as "consentedAtMs",
  s.expires_at as "expiresAtMs"`;

export interface RevocationColumns {
  readonly revoked_at: number | null;
  readonly revoked_by: string | null;
  readonly revoked_reason: string | null;
}

/** Of state `st`. */
export const revocationColumns = (sql: Sql) => sql`st.revoked_at, st.revoked_by, st.revoked_reason`;

export function toSessionSummary(row: SessionFacts & RevocationColumns, nowMs: number): SessionSummary {
  const { revoked_at: atMs, revoked_by: by, revoked_reason: reason, ...facts } = row;
  if (atMs !== null) return { facts, status: "revoked", revocation: { atMs, by: by ?? "", reason } };
  return { facts, status: nowMs < facts.expiresAtMs ? "active" : "expired", revocation: null };
}

/**
 * The statement holds the given filters only, so that the planner finds their index.
 * @param firstActionId the decisions of these sessions begin here: earlier months are not read
 */
export function sessionConditions(
  sql: Sql | Transaction,
  { userSub, scope, agent }: Omit<SessionFilter, "status">,
  firstActionId?: string,
) {
  return [
    userSub === undefined ? sql`` : sql`and s.user_sub = ${userSub}`,
    scope === undefined ? sql`` : sql`and s.scope = ${scope}`,
    agent === undefined
      ? sql``
      : sql`and exists (select from decision d where d.session_id = s.session_id and d.target_kind = 'agent'
          and d.target = ${agent} and d.decision = 'allow'
          ${firstActionId === undefined ? sql`` : sql`and d.action_id >= ${firstActionId}`})`,
  ];
}

/** The status of `toSessionSummary` as a condition. */
export function statusCondition(sql: Sql, status: SessionStatus | undefined, nowMs: number) {
  switch (status) {
    case undefined:
      return sql``;
    case "revoked":
      return sql`and st.revoked_at is not null`;
    case "active":
      return sql`and st.revoked_at is null and s.expires_at > ${new Date(nowMs)}`;
    case "expired":
      return sql`and st.revoked_at is null and s.expires_at <= ${new Date(nowMs)}`;
  }
}
