import type { SessionFacts, SessionStatus, SessionSummary, TaintMark } from "@svc/core";
import { LRUCache } from "lru-cache";
import { budgets } from "../budgets.ts";
import type { AuditReads, SessionFilter } from "../ports/audit-reads.ts";
import type { ConsentEvent, EndEvent, Ending, Sessions } from "../ports/sessions.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import {
  DatabaseUnavailable,
  type Fragment,
  type Pool,
  type Pools,
  type Sql,
  type Transaction,
  waitingUpTo,
} from "./database.ts";
import { firstIdAt } from "./time-ordered-ids.ts";

/** Some 1 KiB each, allocated at once. */
const cachedSessions = 20_000;

interface ReadRow extends SessionFacts, RevocationColumns {
  readonly marks: readonly (Omit<TaintMark, "markedAtMs"> & { readonly markedAt: string })[];
}

export const sessions = ({ reader: { rows, sql }, writer }: Pools<"reader" | "writer">): Sessions => {
  const known = new LRUCache<string, SessionFacts>({ max: cachedSessions });
  return {
    create: (session, event) => writer.transaction((tx) => insertSession(tx, session, event)),
    async find(sessionId) {
      const cached = known.get(sessionId);
      if (cached !== undefined) return cached;
      const [facts] = await rows<SessionFacts>`
        select ${sessionColumns(sql)} from session s where s.session_id = ${sessionId}`;
      if (facts !== undefined) known.set(sessionId, facts);
      return facts;
    },
    /** State and marks in one statement, so of one moment. Every mark is of the one taint there is. */
    async read(sessionId, nowMs) {
      const [row] = await rows<ReadRow>`
        select ${sessionColumns(sql)}, st.revoked_at, st.revoked_by, st.revoked_reason,
          coalesce((select json_agg(json_build_object('agent', m.member, 'taint', 'untrusted_external',
              'source', m.source, 'actionId', m.action_id, 'enforced', not m.observed, 'markedAt', m.marked_at)
              order by m.marked_at, m.member nulls first, m.observed)
            from taint_mark m where m.session_id = s.session_id), '[]') as marks
        from session s join session_state st using (session_id) where s.session_id = ${sessionId}`;
      if (row === undefined) return undefined;
      const { marks, ...session } = row;
      return {
        ...toSessionSummary(session, nowMs),
        marks: marks.map(({ markedAt, ...mark }) => ({ ...mark, markedAtMs: Date.parse(markedAt) })),
      };
    },
    async end(sessionId, ending, eventOf) {
      const ended = await writer.within(budgets.emergency).transaction(async (tx) => {
        await waitingUpTo(tx, budgets.emergency);
        return endThose(tx, tx`and s.session_id = ${sessionId}`, ending, eventOf);
      });
      return ended.length > 0;
    },
    /** Always in the order of id, so that two calls never wait for each other. */
    endSome: ({ filter, after, limit }, ending, eventOf) =>
      writer.within(budgets.emergency).transaction(async (tx) => {
        await waitingUpTo(tx, budgets.emergency);
        const which = tx`
          ${sessionConditions(tx, filter, runningSince(ending.atMs))}
          ${after === undefined ? tx`` : tx`and s.session_id > ${after}`} order by s.session_id limit ${limit}`;
        return endThose(tx, which, ending, eventOf);
      }),
  };
};

/** Listings read many rows, so they use the pool of the audit. */
export const sessionPages = ({ rows, sql }: Pool): Pick<AuditReads, "sessions"> => ({
  async sessions({ filter, after, limit, nowMs }): Promise<readonly SessionSummary[]> {
    const found = await rows<SessionFacts & RevocationColumns>`
      select ${sessionColumns(sql)}, st.revoked_at, st.revoked_by, st.revoked_reason
      from session s join session_state st using (session_id)
      where ${after === undefined ? sql`true` : sql`s.session_id < ${after}`}
        ${sessionConditions(sql, filter)} ${statusCondition(sql, filter.status, nowMs)}
      order by s.session_id desc limit ${limit}`;
    return found.map((row) => toSessionSummary(row, nowMs));
  },
});

/** Returns the session's denial epoch. */
export async function insertSession(
  tx: Transaction,
  session: SessionFacts,
  { eventId, policyHash, details }: ConsentEvent,
): Promise<string> {
  const { sessionId, scope, policyVersion, consentedBy, consentedAtMs } = session;
  await tx`
    insert into session
      (session_id, user_sub, scope, policy_version, hop_budget, consented_by, consented_at, expires_at)
    values (${sessionId}, ${session.userSub}, ${scope}, ${policyVersion}, ${session.hopBudget}, ${consentedBy},
      ${new Date(consentedAtMs)}, ${new Date(session.expiresAtMs)})`;
  await tx`insert into session_state (session_id) values (${sessionId})`;
  await insertAdministrativeEvent(tx, {
    eventId,
    kind: "consent_granted",
    atMs: consentedAtMs,
    actor: consentedBy,
    sessionId,
    details: { scope, policy_version: policyVersion, policy_sha256: policyHash, ...details },
  });
  const [denials] = await tx<{ epoch: string }[]>`select epoch from denial_epoch`;
  if (denials === undefined) throw new DatabaseUnavailable("the denial epoch's row is missing: the schema is damaged");
  return denials.epoch;
}

/** A session lives for a day at most (docs/reference/conventions.md#limits); one more for clocks that differ. */
const decisionsOfRunningMs = 2 * 86_400_000;

/** No decision of a session that runs now has an earlier identifier. */
export const runningSince = (nowMs: number): string => firstIdAt(nowMs - decisionsOfRunningMs);

/** Ends the running sessions `s` of a condition, and those beside them. Returns the ids of the former. */
async function endThose(tx: Transaction, which: Fragment, ending: Ending, eventOf: EndEvent) {
  const ids = await endRunning(tx, which, ending, eventOf);
  const dependent = await besideAny(tx, ids);
  if (dependent.length > 0) await endRunning(tx, tx`and s.session_id = any(${dependent}::uuid[])`, ending, eventOf);
  return ids;
}

/** Also those beside one that is itself beside another. */
async function besideAny(tx: Transaction, ids: readonly string[]): Promise<string[]> {
  const found = await tx<{ session_id: string }[]>`
    with recursive dependent as (
      select session_id from session_beside where beside = any(${ids as string[]}::uuid[])
      union select b.session_id from session_beside b join dependent d on b.beside = d.session_id
    )
    select session_id from dependent`;
  return found.map(({ session_id }) => session_id);
}

async function endRunning(tx: Transaction, which: Fragment, { by, atMs, reason }: Ending, eventOf: EndEvent) {
  const found = await tx<{ session_id: string }[]>`
    select st.session_id from session s join session_state st using (session_id)
    where st.revoked_at is null and s.expires_at > ${new Date(atMs)} ${which} for update of st`;
  const ids = found.map(({ session_id }) => session_id);
  await tx`
    update session_state set revoked_at = ${new Date(atMs)}, revoked_by = ${by}, revoked_reason = ${reason},
      epoch = gen_random_uuid()
    where session_id = any(${ids}::uuid[])`;
  await Promise.all(ids.map((id) => insertAdministrativeEvent(tx, eventOf(id))));
  return ids;
}

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

export function toSessionSummary(row: SessionFacts & RevocationColumns, nowMs: number): SessionSummary {
  const { revoked_at: atMs, revoked_by: by, revoked_reason: reason, ...facts } = row;
  if (atMs !== null) return { facts, status: "revoked", revocation: { atMs, by: by ?? "", reason } };
  return { facts, status: nowMs < facts.expiresAtMs ? "active" : "expired", revocation: null };
}

/** Only the given filters, so that the planner finds their index. `firstActionId`: earlier months are not read. */
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
function statusCondition(sql: Sql, status: SessionStatus | undefined, nowMs: number) {
  if (status === undefined) return sql``;
  if (status === "revoked") return sql`and st.revoked_at is not null`;
  const ends = status === "active" ? sql`>` : sql`<=`;
  return sql`and st.revoked_at is null and s.expires_at ${ends} ${new Date(nowMs)}`;
}
