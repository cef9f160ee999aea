import { LRUCache } from "lru-cache";
import type { SessionFacts } from "../ports/session-state.ts";
import type {
  SessionQuery,
  SessionRead,
  SessionStarts,
  SessionSummary,
  Sessions,
  TaintMark,
} from "../ports/sessions.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import type { Pool, Sql, Transaction } from "./database.ts";
import {
  type RevocationColumns,
  revocationColumns,
  sessionColumns,
  sessionConditions,
  statusCondition,
  toSessionSummary,
} from "./session-rows.ts";

export const sessionStarts = (writer: Pool): SessionStarts => ({
  create: (session, eventId) => writer.transaction((tx) => insert(tx, session, eventId)),
});

/** Some 1 KiB each, allocated at once. */
const cachedSessions = 20_000;

export const sessionReads = (reader: Pool): Omit<Sessions, "page"> => {
  const known = new LRUCache<string, SessionFacts>({ max: cachedSessions });
  return {
    async find(sessionId) {
      const facts = known.get(sessionId) ?? (await reader.run((sql) => find(sql, sessionId)));
      if (facts !== undefined) known.set(sessionId, facts);
      return facts;
    },
    read: (sessionId, nowMs) => reader.run((sql) => read(sql, sessionId, nowMs)),
  };
};

/** Listings read many rows, so they use the pool of the audit. */
export const sessionPages = (audit: Pool): Pick<Sessions, "page"> => ({
  page: (query) => audit.run((sql) => page(sql, query)),
});

async function insert(tx: Transaction, session: SessionFacts, eventId: string): Promise<string> {
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
    details: { scope, policy_version: policyVersion },
  });
  const [denials] = await tx<{ epoch: string }[]>`select epoch from denial_epoch`;
  if (denials === undefined) throw new Error("the denial epoch's row is missing: the schema is damaged");
  return denials.epoch;
}

async function find(sql: Sql, sessionId: string): Promise<SessionFacts | undefined> {
  const [facts] = await sql<SessionFacts[]>`
    select ${sessionColumns(sql)} from session s where s.session_id = ${sessionId}`;
  return facts;
}

interface ReadRow extends SessionFacts, RevocationColumns {
  readonly marks: readonly (Omit<TaintMark, "markedAtMs"> & { readonly markedAt: string })[];
}

/** State and marks in one statement, so of one moment. Every mark is of the one taint there is. */
async function read(sql: Sql, sessionId: string, nowMs: number): Promise<SessionRead | undefined> {
  const [row] = await sql<ReadRow[]>`
    select ${sessionColumns(sql)}, ${revocationColumns(sql)},
      coalesce((select json_agg(json_build_object('agent', m.member, 'taint', 'untrusted_external', 'source', m.source,
          'actionId', m.action_id, 'markedAt', m.marked_at) order by m.marked_at, m.member nulls first)
        from taint_mark m where m.session_id = s.session_id), '[]') as marks
    from session s join session_state st using (session_id) where s.session_id = ${sessionId}`;
  if (row === undefined) return undefined;
  const { marks, ...session } = row;
  return {
    ...toSessionSummary(session, nowMs),
    marks: marks.map(({ markedAt, ...mark }) => ({ ...mark, markedAtMs: Date.parse(markedAt) })),
  };
}

async function page(sql: Sql, { filter, before, limit, nowMs }: SessionQuery): Promise<readonly SessionSummary[]> {
  const rows = await sql<(SessionFacts & RevocationColumns)[]>`
    select ${sessionColumns(sql)}, ${revocationColumns(sql)}
    from session s join session_state st using (session_id)
    where ${before === undefined ? sql`true` : sql`s.session_id < ${before}`}
      ${sessionConditions(sql, filter)} ${statusCondition(sql, filter.status, nowMs)}
    order by s.session_id desc limit ${limit}`;
  return rows.map((row) => toSessionSummary(row, nowMs));
}
