import type { Sql, Transaction } from "./database.ts";

/**
 * Sessions beside each other serve one agent, so untrusted data of one is known in all of them: a mark in one marks the
 * person of every other one, and so each chain there. The row of the family's first session is locked before any other of
 * them, so that a session which begins and a mark that is set see each other.
 */

/** The first session of the family: of most sessions it is the session itself. */
export const familyOf = (sql: Sql | Transaction, sessionId: string) => sql`
  coalesce((select family from session_beside where session_id = ${sessionId}), ${sessionId}::uuid)`;

/** Waits for every mark and every beginning in the family. */
export async function lockFamily(tx: Transaction, sessionId: string): Promise<void> {
  await tx`select from session_state where session_id = ${familyOf(tx, sessionId)} for update`;
}

/** Where and when marks were set. */
export interface MarkedAction {
  readonly sessionId: string;
  readonly actionId: string;
  readonly atMs: number;
}

/** Marks the person of every other session of the family. Call it under the family's lock. */
export async function markFamily(
  tx: Transaction,
  { sessionId, actionId, atMs }: MarkedAction,
  marks: readonly { readonly source: string; readonly observed: boolean }[],
): Promise<void> {
  if (marks.length === 0) return;
  const others = await tx<{ sessionId: string }[]>`
    update session_state st set epoch = gen_random_uuid()
    from (
      select session_id from session_beside where family = ${familyOf(tx, sessionId)}
      union select ${familyOf(tx, sessionId)}
    ) member
    where st.session_id = member.session_id and st.session_id <> ${sessionId}
    returning st.session_id as "sessionId"`;
  const ids = others.map((other) => other.sessionId);
  for (const { source, observed } of marks) {
    await tx`
      insert into taint_mark (session_id, member, source, action_id, marked_at, observed)
      select other, null, ${source}, ${actionId}, ${new Date(atMs)}, ${observed} from unnest(${ids}::uuid[]) other
      on conflict do nothing`;
  }
}

/** What the family knows already, for a session that begins in it. Call it under the family's lock. */
export const inheritMarks = (tx: Transaction, sessionId: string) => tx`
  insert into taint_mark (session_id, member, source, action_id, marked_at, observed)
  select distinct on (m.observed) ${sessionId}::uuid, null, m.source, m.action_id, m.marked_at, m.observed
  from taint_mark m
  where m.session_id <> ${sessionId} and (m.session_id = ${familyOf(tx, sessionId)}
    or m.session_id in (select session_id from session_beside where family = ${familyOf(tx, sessionId)}))
  order by m.observed, m.marked_at
  on conflict do nothing`;
