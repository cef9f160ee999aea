import type { Block, IdentityStatus, SessionFacts, SessionMarks } from "@svc/core";
import { LRUCache } from "lru-cache";
import type { SessionState, SessionStateQuery, SessionStateReader } from "../ports/sessions.ts";
import type { Pool, Sql } from "./database.ts";
import { sessionColumns } from "./sessions.ts";

interface StateRow extends SessionFacts {
  revoked: boolean;
  session_epoch: string;
  denial_epoch: string;
  marks: MarkRow[];
  identities: { agent: string; status: IdentityStatus }[];
  blocks: TimedBlock[];
}

interface MarkRow {
  readonly member: string | null;
  readonly source: string;
  readonly observed: boolean;
}

interface TimedBlock extends Block {
  /** Epoch milliseconds; null: it never lapses. */
  readonly untilMs: number | null;
}

type CachedState = Omit<SessionState, "blocks"> & { readonly blocks: readonly TimedBlock[] };

/** Some 2 KiB each. */
const cachedStates = 20_000;

export const sessionStateReader = (pool: Pool): SessionStateReader => {
  const states = new LRUCache<string, CachedState>({ max: cachedStates });
  return {
    async read(query) {
      const [row] = await pool.run((sql) => select(sql, query));
      if (row === undefined) return undefined;
      const { revoked, identities, blocks, marks, session_epoch: session, denial_epoch: denials, ...facts } = row;
      const state: CachedState = {
        ...{ facts, revoked, blocks, epochs: { denials, session } },
        identities: new Map(identities.map(({ agent, status }) => [agent, status])),
        marks: viewsOf(marks),
      };
      states.set(keyOf(query), state);
      return asOf(state, query.nowMs);
    },
    cached(query) {
      const state = states.get(keyOf(query));
      return state && asOf(state, query.nowMs);
    },
  };
};

/** Where both views hold the same they are one map. */
function viewsOf(marks: readonly MarkRow[]): SessionMarks {
  const mapOf = (rows: readonly MarkRow[]) => new Map(rows.map(({ member, source }) => [member, source]));
  const counted = marks.filter(({ observed }) => !observed);
  const enforced = mapOf(counted);
  if (counted.length === marks.length) return { enforced, observed: enforced };
  return { enforced, observed: new Map([...mapOf(marks), ...enforced]) };
}

/** No name contains a line break. */
const keyOf = ({ sessionId, agents }: SessionStateQuery): string => [sessionId, ...agents].join("\n");

/** A block lapses without a change of the epoch. */
const asOf = (state: CachedState, nowMs: number): SessionState => ({
  ...state,
  blocks: state.blocks
    .filter(({ untilMs }) => untilMs === null || untilMs > nowMs)
    .map(({ kind, ref }) => ({ kind, ref })),
});

/** Epochs and state in one statement, so of one snapshot. */
const select = (sql: Sql, { sessionId, agents, nowMs }: SessionStateQuery) => sql<StateRow[]>`
  select ${sessionColumns(sql)}, st.revoked_at is not null as revoked, st.epoch as session_epoch, d.epoch as denial_epoch,
    coalesce((select json_agg(json_build_object('member', m.member, 'source', m.source, 'observed', m.observed))
      from taint_mark m where m.session_id = s.session_id), '[]') as marks,
    coalesce((select json_agg(json_build_object('kind', b.kind, 'ref', b.ref,
        'untilMs', (extract(epoch from b.until) * 1000)::float8))
      from block b where b.until is null or b.until > ${new Date(nowMs)}), '[]') as blocks,
    coalesce((select json_agg(json_build_object('agent', a.name, 'status',
        case when r.agent_id is not null then 'revoked' else i.status end))
      from agent a left join agent_identity i using (agent_id) left join revocation r using (agent_id)
      where a.name = any(${agents as string[]}) and (r.agent_id is not null or i.agent_id is not null)), '[]')
      as identities
  from session s join session_state st using (session_id) cross join denial_epoch d
  where s.session_id = ${sessionId}`;

/** The same statement without a result, to warm up a connection. */
export const readNothing = (sql: Sql): Promise<unknown> =>
  select(sql, { sessionId: "00000000-0000-0000-0000-000000000000", agents: [], nowMs: 0 });
