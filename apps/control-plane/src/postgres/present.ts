import type { Block, IdentityStatus } from "@svc/core";
import type { Present, PresentQuery, PresentReader } from "../ports/present.ts";
import { bounded, type Sql } from "./database.ts";
import { type SessionColumns, sessionColumns, toSessionFacts } from "./session-rows.ts";

interface PresentRow extends SessionColumns {
  revoked: boolean;
  session_epoch: string;
  denial_epoch: string;
  marks: { member: string | null; source: string }[];
  identities: { agent: string; status: IdentityStatus }[];
  blocks: Block[];
}

/** Epochs and state in one statement, so one snapshot: what was read belongs to the epochs that were read. */
export const presentReader = (sql: Sql, deadlineMs: number): PresentReader => ({
  async read({ sessionId, agents, nowMs }: PresentQuery): Promise<Present | undefined> {
    const [row] = await bounded(
      deadlineMs,
      sql<PresentRow[]>`
        select ${sessionColumns(sql)}, st.revoked_at is not null as revoked, st.epoch as session_epoch, d.epoch as denial_epoch,
          coalesce((select json_agg(json_build_object('member', m.member, 'source', m.source))
            from taint_mark m where m.session_id = s.session_id), '[]') as marks,
          coalesce((select json_agg(json_build_object('kind', b.kind, 'ref', b.ref))
            from block b where b.until is null or b.until > ${new Date(nowMs)}), '[]') as blocks,
          coalesce((select json_agg(json_build_object('agent', a.name, 'status',
              case when r.agent_id is not null then 'revoked' else i.status end))
            from agent a left join agent_identity i using (agent_id) left join revocation r using (agent_id)
            where a.name = any(${agents as string[]}) and (r.agent_id is not null or i.agent_id is not null)), '[]')
            as identities
        from session s join session_state st using (session_id) cross join denial_epoch d
        where s.session_id = ${sessionId}`,
    );
    return row && toPresent(row);
  },
});

const toPresent = (row: PresentRow): Present => ({
  session: toSessionFacts(row),
  revoked: row.revoked,
  identities: new Map(row.identities.map(({ agent, status }) => [agent, status])),
  blocks: row.blocks,
  marks: new Map(row.marks.map(({ member, source }) => [member, source])),
  epochs: { denials: row.denial_epoch, session: row.session_epoch },
});
