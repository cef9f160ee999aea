import type { QuarantineReason } from "@svc/core";
import type { PublicJwk } from "@svc/tokens";
import type { AdministrativeEvent } from "../ports/administrative-event.ts";
import type { CompleteEnrollment, Completion } from "../ports/enrollments.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import type { Transaction } from "./database.ts";
import { replaceDenialEpoch } from "./denial-epoch.ts";
import { lockIdentities } from "./revocations.ts";

interface Proven {
  agent_id: string;
  agent: string;
  revoked: boolean;
  jwk: PublicJwk;
  thumbprint: string;
  principal_issuer: string | null;
  principal_sub: string | null;
  quarantine_reason: QuarantineReason | null;
  begun_by: string | null;
}

/**
 * A change of identity changes what decisions stand on, in either direction, and which keys prove: hence the epoch. An
 * exchange that read the key before it was replaced finds the epoch replaced as well.
 */
export async function complete(
  tx: Transaction,
  { enrollmentId, eventId, atMs }: CompleteEnrollment,
): Promise<Completion> {
  await lockIdentities(tx);
  const proven = await close(tx, enrollmentId, atMs);
  if (proven === undefined) return { kind: "over" };
  if (proven.revoked) return { kind: "agent_revoked" };
  await replaceDenialEpoch(tx);
  const reason = proven.quarantine_reason ?? (await keyConflict(tx, proven));
  const completion = reason === undefined ? await enroll(tx, proven) : await quarantine(tx, proven, reason);
  await insertAdministrativeEvent(tx, { ...eventOf(proven, enrollmentId, completion), eventId, atMs });
  return completion;
}

async function close(tx: Transaction, enrollmentId: string, atMs: number): Promise<Proven | undefined> {
  const [row] = await tx<Proven[]>`
    update enrollment e set completed_at = ${new Date(atMs)}
    from agent a
    where e.enrollment_id = ${enrollmentId} and e.completed_at is null and a.agent_id = e.agent_id
    returning e.agent_id, a.name as agent, e.jwk, e.thumbprint, e.principal_issuer, e.principal_sub,
      e.quarantine_reason, e.begun_by,
      exists (select from revocation r where r.agent_id = e.agent_id) as revoked`;
  return row;
}

/** A revoked agent's key stays its own: it must not come back under another name. */
async function keyConflict(tx: Transaction, { agent_id, thumbprint }: Proven): Promise<QuarantineReason | undefined> {
  const [other] = await tx`
    select from agent_identity where thumbprint = ${thumbprint} and agent_id <> ${agent_id}`;
  return other === undefined ? undefined : "KEY_IN_USE";
}

async function enroll(
  tx: Transaction,
  { agent_id, agent, jwk, thumbprint, ...principal }: Proven,
): Promise<Completion> {
  const [row] = await tx<{ anchor_version: number }[]>`
    insert into agent_identity as i (agent_id, agent, status, anchor_version, jwk, thumbprint, principal_issuer,
      principal_sub, as_of)
    values (${agent_id}, ${agent}, 'enrolled', 1, ${tx.json({ ...jwk })}, ${thumbprint},
      ${principal.principal_issuer}, ${principal.principal_sub}, clock_timestamp())
    on conflict (agent_id) do update set status = 'enrolled', reason = null, anchor_version = i.anchor_version + 1,
      jwk = excluded.jwk, thumbprint = excluded.thumbprint, principal_issuer = excluded.principal_issuer,
      principal_sub = excluded.principal_sub, as_of = greatest(i.as_of, excluded.as_of)
    returning i.anchor_version`;
  return { kind: "enrolled", agentId: agent_id, anchorVersion: row?.anchor_version ?? 1 };
}

/** Where an identity stands already it stays as it is. */
async function quarantine(tx: Transaction, { agent_id, agent }: Proven, reason: QuarantineReason): Promise<Completion> {
  await tx`
    insert into agent_identity (agent_id, agent, status, reason, anchor_version, as_of)
    values (${agent_id}, ${agent}, 'quarantined', ${reason}, 0, clock_timestamp())
    on conflict (agent_id) do nothing`;
  return { kind: "quarantined", reason };
}

function eventOf(
  proven: Proven,
  enrollmentId: string,
  completion: Completion,
): Omit<AdministrativeEvent, "eventId" | "atMs"> {
  const isEnrolled = completion.kind === "enrolled";
  return {
    kind: isEnrolled ? "agent_enrolled" : "agent_quarantined",
    // The proof was the credential.
    actor: proven.agent,
    sessionId: null,
    agent: proven.agent,
    reason: completion.kind === "quarantined" ? completion.reason : null,
    details: {
      agent_id: proven.agent_id,
      enrollment_id: enrollmentId,
      begun_by: proven.begun_by ?? "enroll_token",
      thumbprint: proven.thumbprint,
      principal_issuer: proven.principal_issuer,
      principal_sub: proven.principal_sub,
      ...(isEnrolled && { anchor_version: completion.anchorVersion }),
    },
  };
}
