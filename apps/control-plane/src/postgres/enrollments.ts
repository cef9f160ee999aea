import type { Enrollments, NewEnrollment, NewEnrollToken, PendingEnrollment, TokenUse } from "../ports/enrollments.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import type { Pool, Sql, Transaction } from "./database.ts";
import { complete } from "./enrollment-completion.ts";

export const enrollments = (writer: Pool): Enrollments => ({
  issueToken: (token) => writer.transaction((tx) => issueToken(tx, token)),
  isTokenGood: (use) => writer.run((sql) => isTokenGood(sql, use)),
  begin: (enrollment) => writer.run((sql) => begin(sql, enrollment)),
  takeTry: (enrollmentId, nowMs) => writer.run((sql) => takeTry(sql, enrollmentId, nowMs)),
  complete: (completion) => writer.transaction((tx) => complete(tx, completion)),
});

async function issueToken(tx: Transaction, token: NewEnrollToken): Promise<void> {
  const { eventId, agent, agentId, issuedBy, issuedAtMs } = token;
  const expiresAt = new Date(token.expiresAtMs);
  await tx`
    insert into enroll_token (token_hash, agent_id, issued_by, issued_at, expires_at)
    values (${token.tokenHash}, ${agentId}, ${issuedBy}, ${new Date(issuedAtMs)}, ${expiresAt})`;
  const details = { agent_id: agentId, expires_at: expiresAt.toISOString() };
  await insertAdministrativeEvent(tx, {
    eventId,
    kind: "enroll_token_issued",
    atMs: issuedAtMs,
    actor: issuedBy,
    agent,
    details,
  });
}

async function isTokenGood(sql: Sql, { tokenHash, agentId, nowMs }: TokenUse): Promise<boolean> {
  const rows = await sql`
    select from enroll_token t
    where t.token_hash = ${tokenHash} and t.agent_id = ${agentId} and t.expires_at > ${new Date(nowMs)}
      and not exists (select from enrollment e where e.enroll_token_hash = t.token_hash)`;
  return rows.length === 1;
}

/** One statement, which inserts only if the token and the agent are still good. */
async function begin(sql: Sql, begun: NewEnrollment): ReturnType<Enrollments["begin"]> {
  const { agentId, enrollTokenHash, binding } = begun;
  const principal = "principal" in binding ? binding.principal : null;
  const quarantine = "quarantine" in binding ? binding.quarantine : null;
  const use = enrollTokenHash && { tokenHash: enrollTokenHash, agentId, nowMs: begun.begunAtMs };
  const { count } = await sql`
    insert into enrollment (enrollment_id, agent_id, jwk, thumbprint, challenge, claims, principal_issuer,
      principal_sub, quarantine_reason, begun_by, enroll_token_hash, begun_at, expires_at)
    select ${begun.enrollmentId}, a.agent_id, ${sql.json({ ...begun.publicJwk })}, ${begun.thumbprint},
      ${begun.challenge}, ${begun.claims}, ${principal?.issuer ?? null}, ${principal?.subject ?? null}, ${quarantine},
      ${begun.begunBy}, ${enrollTokenHash}, ${new Date(begun.begunAtMs)}, ${new Date(begun.expiresAtMs)}
    from agent a
    where a.agent_id = ${agentId} and not exists (select from revocation r where r.agent_id = a.agent_id)
      ${
        use === null
          ? sql``
          : sql`and exists (select from enroll_token t where t.token_hash = ${use.tokenHash}
              and t.agent_id = a.agent_id and t.expires_at > ${new Date(use.nowMs)})`
      }
    on conflict (enroll_token_hash) do nothing`;
  if (count === 1) return "begun";
  return use === null || (await isTokenGood(sql, use)) ? "agent_revoked" : "token_refused";
}

async function takeTry(sql: Sql, enrollmentId: string, nowMs: number): Promise<PendingEnrollment | "unknown" | "over"> {
  const [pending] = await sql<PendingEnrollment[]>`
    update enrollment e set tries = tries + 1
    from agent a
    where e.enrollment_id = ${enrollmentId} and a.agent_id = e.agent_id
      and e.tries < 3 and e.completed_at is null and e.expires_at > ${new Date(nowMs)}
    returning a.name as agent, e.jwk as "publicJwk", e.challenge`;
  if (pending !== undefined) return pending;
  const known = await sql`select from enrollment where enrollment_id = ${enrollmentId}`;
  return known.length === 0 ? "unknown" : "over";
}
