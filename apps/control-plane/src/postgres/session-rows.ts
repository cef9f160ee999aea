import type { SessionStatus } from "@svc/core";
import type { SessionFacts } from "../ports/session-state.ts";
import type { SessionFilter, SessionSummary } from "../ports/sessions.ts";
import type { Sql, Transaction } from "./database.ts";

export interface SessionColumns {
  session_id: string;
  user_sub: string;
  scope: string;
  policy_version: number;
  hop_budget: number;
  consented_by: string;
  consented_at: Date;
  expires_at: Date;
}

/** The columns of a session's facts, for every statement that reads them; `s` is the session table. */
export const sessionColumns = (sql: Sql) => sql`
  s.session_id, s.user_sub, s.scope, s.policy_version, s.hop_budget, s.consented_by, s.consented_at, s.expires_at`;

export const toSessionFacts = (row: SessionColumns): SessionFacts => ({
  sessionId: row.session_id,
  userSub: row.user_sub,
  scope: row.scope,
  policyVersion: row.policy_version,
  hopBudget: row.hop_budget,
  consentedBy: row.consented_by,
  consentedAtMs: row.consented_at.getTime(),
  expiresAtMs: row.expires_at.getTime(),
});

export interface SessionStateColumns extends SessionColumns {
  revoked_at: Date | null;
  revoked_by: string | null;
  revoked_reason: string | null;
}

/** Of state `st`, beside the facts. */
export const sessionStateColumns = (sql: Sql) => sql`st.revoked_at, st.revoked_by, st.revoked_reason`;

export const toSessionSummary = (row: SessionStateColumns, nowMs: number): SessionSummary => ({
  facts: toSessionFacts(row),
  status: statusOf(row, nowMs),
  revocation:
    row.revoked_at === null
      ? null
      : { atMs: row.revoked_at.getTime(), by: row.revoked_by ?? "", reason: row.revoked_reason },
});

const statusOf = ({ revoked_at, expires_at }: SessionStateColumns, nowMs: number): SessionStatus => {
  if (revoked_at !== null) return "revoked";
  return nowMs < expires_at.getTime() ? "active" : "expired";
};

/**
 * Only what is asked stands in the statement, so that the planner finds the index of each filter.
 * @param firstActionId where the decisions of all sessions in question begin: earlier months are not looked at
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

/** The same distinction as `statusOf`, for a statement. */
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
