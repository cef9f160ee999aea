import type { Taint } from "@svc/core";
import { LRUCache } from "lru-cache";
import type { SessionFacts } from "../ports/session-state.ts";
import type { SessionQuery, SessionRead, SessionSummary, Sessions, TaintMark } from "../ports/sessions.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import { bounded, type Sql, type Transaction } from "./database.ts";
import {
  type SessionColumns,
  type SessionStateColumns,
  sessionColumns,
  sessionConditions,
  sessionStateColumns,
  statusCondition,
  toSessionFacts,
  toSessionSummary,
} from "./session-rows.ts";

export interface SessionStoreSettings {
  readonly writer: Sql;
  readonly reader: Sql;
  /** Listings walk through many rows: they stand beside the audit's. */
  readonly audit: Sql;
  readonly commitDeadlineMs: number;
  readonly readDeadlineMs: number;
  readonly auditReadDeadlineMs: number;
}

export const sessionStore = (settings: SessionStoreSettings): Sessions => {
  const { writer, reader, audit, commitDeadlineMs, readDeadlineMs, auditReadDeadlineMs } = settings;
  // The cache makes room for all of them at once, so no more than those whose denials are remembered.
  const known = new LRUCache<string, SessionFacts>({ max: 20_000 });
  return {
    create: (session, eventId) =>
      bounded(
        commitDeadlineMs,
        writer.begin((tx) => insert(tx, session, eventId)),
      ),
    async find(sessionId) {
      const facts = known.get(sessionId) ?? (await bounded(readDeadlineMs, find(reader, sessionId)));
      if (facts !== undefined) known.set(sessionId, facts);
      return facts;
    },
    read: (sessionId, nowMs) => bounded(readDeadlineMs, read(reader, sessionId, nowMs)),
    ...sessionPages(audit, auditReadDeadlineMs),
  };
};

export const sessionPages = (sql: Sql, deadlineMs: number): Pick<Sessions, "page"> => ({
  page: (query) => bounded(deadlineMs, page(sql, query)),
});

async function insert(tx: Transaction, session: SessionFacts, eventId: string): Promise<string> {
  await tx`
    insert into session
      (session_id, user_sub, scope, policy_version, hop_budget, consented_by, consented_at, expires_at)
    values (${session.sessionId}, ${session.userSub}, ${session.scope}, ${session.policyVersion},
      ${session.hopBudget}, ${session.consentedBy}, ${new Date(session.consentedAtMs)},
      ${new Date(session.expiresAtMs)})`;
  await tx`insert into session_state (session_id) values (${session.sessionId})`;
  await insertAdministrativeEvent(tx, {
    eventId,
    kind: "consent_granted",
    atMs: session.consentedAtMs,
    actor: session.consentedBy,
    sessionId: session.sessionId,
    agent: null,
    reason: null,
    details: { scope: session.scope, policy_version: session.policyVersion },
  });
  const [denials] = await tx<{ epoch: string }[]>`select epoch from denial_epoch`;
  if (denials === undefined) throw new Error("the denial epoch's row is missing: the schema is damaged");
  return denials.epoch;
}

async function find(sql: Sql, sessionId: string): Promise<SessionFacts | undefined> {
  const [row] = await sql<SessionColumns[]>`
    select ${sessionColumns(sql)} from session s where s.session_id = ${sessionId}`;
  return row && toSessionFacts(row);
}

interface MarkRow {
  member: string | null;
  source: string;
  action_id: string;
  marked_at: string;
}

interface SessionReadRow extends SessionStateColumns {
  marks: MarkRow[];
}

/** State and marks in one statement, so of one moment. */
async function read(sql: Sql, sessionId: string, nowMs: number): Promise<SessionRead | undefined> {
  const [row] = await sql<SessionReadRow[]>`
    select ${sessionColumns(sql)}, ${sessionStateColumns(sql)},
      coalesce((select json_agg(json_build_object('member', m.member, 'source', m.source, 'action_id', m.action_id,
          'marked_at', m.marked_at) order by m.marked_at, m.member nulls first)
        from taint_mark m where m.session_id = s.session_id), '[]') as marks
    from session s join session_state st using (session_id) where s.session_id = ${sessionId}`;
  return row && { ...toSessionSummary(row, nowMs), marks: row.marks.map(toMark) };
}

/** There is but one taint to be marked with (contract: the two-point lattice). */
const marked: Taint = "untrusted_external";

const toMark = ({ member, source, action_id, marked_at }: MarkRow): TaintMark => ({
  agent: member,
  taint: marked,
  source,
  actionId: action_id,
  markedAtMs: Date.parse(marked_at),
});

async function page(sql: Sql, { filter, before, limit, nowMs }: SessionQuery): Promise<readonly SessionSummary[]> {
  const rows = await sql<SessionStateColumns[]>`
    select ${sessionColumns(sql)}, ${sessionStateColumns(sql)}
    from session s join session_state st using (session_id)
    where ${before === undefined ? sql`true` : sql`s.session_id < ${before}`}
      ${sessionConditions(sql, filter)} ${statusCondition(sql, filter.status, nowMs)}
    order by s.session_id desc limit ${limit}`;
  return rows.map((row) => toSessionSummary(row, nowMs));
}
