import type { SessionFacts } from "@svc/core";
import type { Allowed, Answer, BesideSession, Consents, Grant, HeldGrant, NewTokens } from "../ports/consents.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import { codeOf, type Fragment, type Pools, type Sql, type Transaction } from "./database.ts";
import { familyOf, inheritMarks, lockFamily } from "./families.ts";
import { insertSession, sessionColumns } from "./sessions.ts";

/** Reads are of the primary: a code is spent within a moment of its issue, by whichever process. */
export const consents = ({ reader: { rows, sql }, writer }: Pools<"reader" | "writer">): Consents => ({
  async allow(allowed) {
    try {
      return (await unlessDoubled(writer.transaction((tx) => allow(tx, allowed)))) ? "allowed" : "answered";
    } catch (error) {
      if (error instanceof SessionOver) return "over";
      throw error;
    }
  },
  spend: (answer) =>
    unlessDoubled(
      writer.transaction(async (tx) => {
        await insertAnswer(tx, answer);
      }),
    ),
  refuse: (answer, event) =>
    unlessDoubled(
      writer.transaction(async (tx) => {
        await insertAnswer(tx, answer);
        await insertAdministrativeEvent(tx, event);
      }),
    ),
  besideOf: async ({ sessionId, holder, nowMs }) => {
    const found = await rows<SessionFacts & Pick<BesideSession, "agent">>`
      select ${sessionColumns(sql)}, b.agent
      from session_beside b join session s using (session_id) join session_state st using (session_id)
      where b.beside = ${sessionId} and b.holder = ${holder} and st.revoked_at is null and s.expires_at > ${new Date(nowMs)}
      order by s.session_id desc`;
    return found.map(({ agent: entry, ...session }) => ({ session, agent: entry }));
  },
  async grantOf(by) {
    const [found] =
      "begunWith" in by
        ? await rows<GrantRow>`
            select ${grantColumns(sql, sql`g.begun_with`)} ${fromGrants(sql)} where g.begun_with = ${by.begunWith}`
        : await rows<GrantRow>`
            select ${grantColumns(sql, sql`r.token_hash`)} ${fromGrants(sql)} join oauth_token r using (grant_id)
            where r.token_hash = ${by.refreshToken} and r.kind = 'refresh'`;
    return found && toGrant(found);
  },
  async grantOfHandle(handle, nowMs): Promise<HeldGrant | undefined> {
    const [found] = await rows<GrantRow & Pick<HeldGrant, "handleExpiresAtMs">>`
      select ${grantColumns(sql, sql`g.begun_with`)}, h.expires_at as "handleExpiresAtMs"
      ${fromGrants(sql)} join oauth_token h using (grant_id)
      where h.token_hash = ${handle} and h.kind = 'access' and h.expires_at > ${new Date(nowMs)}
        and s.expires_at > ${new Date(nowMs)} and st.revoked_at is null`;
    return found && { ...toGrant(found), handleExpiresAtMs: found.handleExpiresAtMs };
  },
  async grantOfToken(token) {
    const [found] = await rows<GrantRow>`
      select ${grantColumns(sql, sql`g.begun_with`)} ${fromGrants(sql)} join oauth_token h using (grant_id)
      where h.token_hash = ${token}`;
    return found && toGrant(found);
  },
  addTokens: (tokens) => unlessDoubled(writer.transaction((tx) => insertTokens(tx, tokens))),
});

/** A unique key says that it was done before. */
async function unlessDoubled(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (isUniqueViolation(error)) return false;
    throw error;
  }
}

/** The fault of the database is the cause of ours. */
const isUniqueViolation = (error: unknown): boolean =>
  codeOf(error) === "23505" || (error instanceof Error && codeOf(error.cause) === "23505");

/** Rolls back: the session that another one would be beside has ended. */
class SessionOver extends Error {}

async function allow(tx: Transaction, { answer, sessions, grant }: Allowed): Promise<void> {
  if (answer !== null) await insertAnswer(tx, answer);
  for (const { facts, event, beside } of sessions) {
    await insertSession(tx, facts, event);
    if (beside === undefined) continue;
    await lockFamily(tx, beside.sessionId);
    // Under its lock: its end, which ends those beside it, sees this one or is seen here.
    const running = await tx`
      select from session_state where session_id = ${beside.sessionId} and revoked_at is null for update`;
    if (running.length === 0) throw new SessionOver();
    await tx`
      insert into session_beside (session_id, beside, family, holder, agent, expires_at)
      values (${facts.sessionId}, ${beside.sessionId}, ${familyOf(tx, beside.sessionId)}, ${beside.holder},
        ${beside.agent}, ${new Date(facts.expiresAtMs)})`;
    await inheritMarks(tx, facts.sessionId);
  }
  const [primary] = sessions;
  if (grant === undefined || primary === undefined) return;
  const { code } = grant;
  await tx`
    insert into oauth_grant (grant_id, session_id, agent, client_id, resource, scopes, begun_with, code_challenge,
      redirect_uri, code_expires_at, expires_at)
    values (${grant.grantId}, ${primary.facts.sessionId}, ${grant.agent}, ${grant.clientId}, ${grant.resource},
      ${grant.scopes as string[]}, ${grant.begunWith}, ${code?.challenge ?? null}, ${code?.redirectUri ?? null},
      ${code === null ? null : new Date(code.expiresAtMs)}, ${new Date(primary.facts.expiresAtMs)})`;
}

const insertAnswer = (tx: Transaction, { questionId, atMs, expiresAtMs }: Answer) => tx`
  insert into consent_answer (question_id, answered_at, expires_at)
  values (${questionId}, ${new Date(atMs)}, ${new Date(expiresAtMs)})`;

async function insertTokens(tx: Transaction, { grantId, issuedFor, access, refresh }: NewTokens): Promise<void> {
  await tx`
    insert into oauth_token (token_hash, grant_id, kind, issued_for, expires_at)
    values (${access.hash}, ${grantId}, 'access', ${issuedFor}, ${new Date(access.expiresAtMs)}),
      (${refresh.hash}, ${grantId}, 'refresh', ${issuedFor}, ${new Date(refresh.expiresAtMs)})`;
}

interface GrantRow extends SessionFacts, Omit<Grant, "session" | "code"> {
  readonly challenge: string | null;
  readonly redirectUri: string | null;
  readonly codeExpiresAtMs: number | null;
}

/** `spent`: the hash that the grant's tokens were issued for, if it was spent. */
const grantColumns = (sql: Sql, spent: Fragment) => sql`
  ${sessionColumns(sql)}, g.grant_id as "grantId", g.agent, g.client_id as "clientId", g.resource, g.scopes,
  g.begun_with as "begunWith", g.code_challenge as challenge, g.redirect_uri as "redirectUri",
  g.code_expires_at as "codeExpiresAtMs", st.revoked_at is not null as "isEnded",
  exists (select from oauth_token t where t.issued_for = ${spent}) as "isSpent"`;

const fromGrants = (sql: Sql) => sql`
  from oauth_grant g join session s using (session_id) join session_state st using (session_id)`;

function toGrant(row: GrantRow): Grant {
  const { grantId, agent, clientId, resource, scopes, begunWith, isEnded, isSpent, ...rest } = row;
  const { challenge, redirectUri, codeExpiresAtMs, ...facts } = rest;
  const isCode = challenge !== null && redirectUri !== null && codeExpiresAtMs !== null;
  const code = isCode ? { challenge, redirectUri, expiresAtMs: codeExpiresAtMs } : null;
  const { sessionId, userSub, scope, policyVersion, hopBudget, consentedBy, consentedAtMs, expiresAtMs } = facts;
  const session = { sessionId, userSub, scope, policyVersion, hopBudget, consentedBy, consentedAtMs, expiresAtMs };
  return { grantId, agent, clientId, resource, scopes, begunWith, code, session, isEnded, isSpent };
}
