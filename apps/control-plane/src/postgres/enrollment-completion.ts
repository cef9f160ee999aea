import type { QuarantineReason } from "@svc/core";
import type { PublicJwk } from "@svc/tokens";
import type { CompleteEnrollment, Completion } from "../ports/enrollments.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import type { Transaction } from "./database.ts";
import { replaceDenialEpoch } from "./denial-epoch.ts";
import { lockIdentities } from "./revocations.ts";

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

/**
 * An identity and its keys are facts of a decision, so the denial epoch changes with them: an exchange that read the
 * earlier key cannot commit.
 */
export async function complete(tx: Transaction, completing: CompleteEnrollment): Promise<Completion> {
  await lockIdentities(tx);
  const proven = await close(tx, completing);
  if (proven === undefined) return { kind: "over" };
  if (proven.revoked) return { kind: "agent_revoked" };
  await replaceDenialEpoch(tx);
  const reason = proven.quarantineReason ?? (await keyConflict(tx, proven));
  const completion = reason === undefined ? await enroll(tx, proven) : await quarantine(tx, proven, reason);
  await recordCompletion(tx, proven, completing, completion);
  return completion;
}

async function close(tx: Transaction, { enrollmentId, atMs }: CompleteEnrollment): Promise<Proven | undefined> {
  const [row] = await tx<Proven[]>`
    update enrollment e set completed_at = ${new Date(atMs)}
    from agent a
    where e.enrollment_id = ${enrollmentId} and e.completed_at is null and a.agent_id = e.agent_id
    returning e.agent_id as "agentId", a.name as agent, e.jwk, e.thumbprint, e.principal_issuer as "principalIssuer",
      e.principal_sub as "principalSub", e.quarantine_reason as "quarantineReason", e.begun_by as "begunBy",
      exists (select from revocation r where r.agent_id = e.agent_id) as revoked`;
  return row;
}

/** A revoked agent keeps its key: the key must not return under another name. */
async function keyConflict(tx: Transaction, { agentId, thumbprint }: Proven): Promise<QuarantineReason | undefined> {
  const [other] = await tx`
    select from agent_identity where thumbprint = ${thumbprint} and agent_id <> ${agentId}`;
  return other === undefined ? undefined : "KEY_IN_USE";
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

/** An existing identity stays as it is. */
async function quarantine(tx: Transaction, { agentId, agent }: Proven, reason: QuarantineReason): Promise<Completion> {
  await tx`
    insert into agent_identity (agent_id, agent, status, reason, anchor_version, as_of)
    values (${agentId}, ${agent}, 'quarantined', ${reason}, 0, clock_timestamp())
    on conflict (agent_id) do nothing`;
  return { kind: "quarantined", reason };
}

/** The actor is the agent, since its proof was the credential. */
const recordCompletion = (
  tx: Transaction,
  proven: Proven,
  { enrollmentId, eventId, atMs }: CompleteEnrollment,
  completion: Completion,
): Promise<void> =>
  insertAdministrativeEvent(tx, {
    eventId,
    kind: completion.kind === "enrolled" ? "agent_enrolled" : "agent_quarantined",
    atMs,
    actor: proven.agent,
    agent: proven.agent,
    reason: completion.kind === "quarantined" ? completion.reason : null,
    details: {
      agent_id: proven.agentId,
      enrollment_id: enrollmentId,
      begun_by: proven.begunBy ?? "enroll_token",
      thumbprint: proven.thumbprint,
      principal_issuer: proven.principalIssuer,
      principal_sub: proven.principalSub,
      ...(completion.kind === "enrolled" && { anchor_version: completion.anchorVersion }),
    },
  });
