import type { QuarantineReason } from "@svc/core";
import type { PublicJwk } from "@svc/tokens";
import type {
  CompleteEnrollment,
  Completion,
  Enrollments,
  NewEnrollment,
  NewEnrollToken,
  PendingEnrollment,
  TokenUse,
} from "../ports/enrollments.ts";
import { insertAdministrativeEvent, recordChangedDenials } from "./administrative-events.ts";
import type { Pool, Sql, Transaction } from "./database.ts";
import type { DenialChanges } from "./denial-changes.ts";
import { lockIdentities } from "./identities.ts";

export const enrollments = (writer: Pool, { change }: Pick<DenialChanges, "change">): Enrollments => ({
  issueToken: (token) => writer.transaction((tx) => issueToken(tx, token)),
  isTokenGood: (use) => writer.run((sql) => isTokenGood(sql, use)),
  begin: (enrollment) => writer.run((sql) => begin(sql, enrollment)),
  takeTry: (enrollmentId, nowMs) => writer.run((sql) => takeTry(sql, enrollmentId, nowMs)),
  complete: (completion) => change((tx) => complete(tx, completion)),
});

async function issueToken(tx: Transaction, token: NewEnrollToken): Promise<void> {
  const { eventId, agent, agentId, issuedBy, issuedAtMs } = token;
  const expiresAt = new Date(token.expiresAtMs);
  await tx`
    insert into enroll_token (token_hash, agent_id, issued_by, issued_at, expires_at)
    values (${token.tokenHash}, ${agentId}, ${issuedBy}, ${new Date(issuedAtMs)}, ${expiresAt})`;
  const details = { agent_id: agentId, expires_at: expiresAt.toISOString() };
  const event = { eventId, kind: "enroll_token_issued", atMs: issuedAtMs, actor: issuedBy, agent, details } as const;
  await insertAdministrativeEvent(tx, event);
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

interface Proven {
  readonly agentId: string;
  readonly agent: string;
  readonly revoked: boolean;
  readonly jwk: PublicJwk;
  readonly thumbprint: string;
  readonly principalIssuer: string | null;
  readonly principalSub: string | null;
  readonly quarantineReason: QuarantineReason | null;
  readonly begunBy: string | null;
}

/** The denial epoch changes with the key: an exchange that read the earlier one cannot commit. */
async function complete(tx: Transaction, completing: CompleteEnrollment): Promise<Completion> {
  await lockIdentities(tx);
  const [proven] = await tx<Proven[]>`
    update enrollment e set completed_at = ${new Date(completing.atMs)}
    from agent a
    where e.enrollment_id = ${completing.enrollmentId} and e.completed_at is null and a.agent_id = e.agent_id
    returning e.agent_id as "agentId", a.name as agent, e.jwk, e.thumbprint, e.principal_issuer as "principalIssuer",
      e.principal_sub as "principalSub", e.quarantine_reason as "quarantineReason", e.begun_by as "begunBy",
      exists (select from revocation r where r.agent_id = e.agent_id) as revoked`;
  if (proven === undefined) return { kind: "over" };
  if (proven.revoked) return { kind: "agent_revoked" };
  const reason = proven.quarantineReason ?? (await keyConflict(tx, proven));
  const completion = reason === null ? await enroll(tx, proven) : await quarantine(tx, proven, reason);
  await recordChangedDenials(tx, {
    eventId: completing.eventId,
    kind: reason === null ? "agent_enrolled" : "agent_quarantined",
    atMs: completing.atMs,
    // Its proof was the credential.
    actor: proven.agent,
    agent: proven.agent,
    reason,
    details: {
      agent_id: proven.agentId,
      enrollment_id: completing.enrollmentId,
      begun_by: proven.begunBy ?? "enroll_token",
      thumbprint: proven.thumbprint,
      principal_issuer: proven.principalIssuer,
      principal_sub: proven.principalSub,
      ...(completion.kind === "enrolled" && { anchor_version: completion.anchorVersion }),
    },
  });
  return completion;
}

/** A revoked agent keeps its key: the key must not return under another name. */
async function keyConflict(tx: Transaction, { agentId, thumbprint }: Proven): Promise<QuarantineReason | null> {
  const [other] = await tx`
    select from agent_identity where thumbprint = ${thumbprint} and agent_id <> ${agentId}`;
  return other === undefined ? null : "KEY_IN_USE";
}

async function enroll(tx: Transaction, proven: Proven): Promise<Completion> {
  const { agentId, agent, jwk, thumbprint, principalIssuer, principalSub } = proven;
  const [row] = await tx<{ anchor_version: number }[]>`
    insert into agent_identity as i (agent_id, agent, status, anchor_version, jwk, thumbprint, principal_issuer,
      principal_sub, as_of)
    values (${agentId}, ${agent}, 'enrolled', 1, ${tx.json({ ...jwk })}, ${thumbprint}, ${principalIssuer},
      ${principalSub}, clock_timestamp())
    on conflict (agent_id) do update set status = 'enrolled', reason = null, anchor_version = i.anchor_version + 1,
      jwk = excluded.jwk, thumbprint = excluded.thumbprint, principal_issuer = excluded.principal_issuer,
      principal_sub = excluded.principal_sub, as_of = greatest(i.as_of, excluded.as_of)
    returning i.anchor_version`;
  return { kind: "enrolled", agentId, anchorVersion: row?.anchor_version ?? 1 };
}

/** An existing identity stays as it is, but for one whose quarantine was lifted. */
async function quarantine(tx: Transaction, { agentId, agent }: Proven, reason: QuarantineReason): Promise<Completion> {
  await tx`
    insert into agent_identity as i (agent_id, agent, status, reason, anchor_version, as_of)
    values (${agentId}, ${agent}, 'quarantined', ${reason}, 0, clock_timestamp())
    on conflict (agent_id) do update set status = 'quarantined', reason = excluded.reason,
      as_of = greatest(i.as_of, excluded.as_of)
    where i.status = 'none'`;
  return { kind: "quarantined", reason };
}
