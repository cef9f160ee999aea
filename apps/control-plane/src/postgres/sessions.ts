import { LRUCache } from "lru-cache";
import type { SessionFacts } from "../ports/present.ts";
import type { Sessions } from "../ports/sessions.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import { bounded, type Sql, type Transaction } from "./database.ts";

export interface SessionStoreSettings {
  readonly writer: Sql;
  readonly reader: Sql;
  readonly commitDeadlineMs: number;
  readonly readDeadlineMs: number;
}

export const sessionStore = (settings: SessionStoreSettings): Sessions => {
  const { writer, reader, commitDeadlineMs, readDeadlineMs } = settings;
  const known = new LRUCache<string, SessionFacts>({ max: 100_000 });
  return {
    async create(session, eventId) {
      await bounded(
        commitDeadlineMs,
        writer.begin((tx) => insert(tx, session, eventId)),
      );
    },
    async find(sessionId) {
      const facts = known.get(sessionId) ?? (await bounded(readDeadlineMs, find(reader, sessionId)));
      if (facts !== undefined) known.set(sessionId, facts);
      return facts;
    },
  };
};

async function insert(tx: Transaction, session: SessionFacts, eventId: string): Promise<void> {
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
}

interface SessionRow {
  session_id: string;
  user_sub: string;
  scope: string;
  policy_version: number;
  hop_budget: number;
  consented_by: string;
  consented_at: Date;
  expires_at: Date;
}

async function find(sql: Sql, sessionId: string): Promise<SessionFacts | undefined> {
  const [row] = await sql<SessionRow[]>`
    select session_id, user_sub, scope, policy_version, hop_budget, consented_by, consented_at, expires_at
    from session where session_id = ${sessionId}`;
  return row && toSessionFacts(row);
}

const toSessionFacts = (row: SessionRow): SessionFacts => ({
  sessionId: row.session_id,
  userSub: row.user_sub,
  scope: row.scope,
  policyVersion: row.policy_version,
  hopBudget: row.hop_budget,
  consentedBy: row.consented_by,
  consentedAtMs: row.consented_at.getTime(),
  expiresAtMs: row.expires_at.getTime(),
});
