import type { Block, IdentityStatus, PresentDenials, SessionFacts, SessionMarks } from "@svc/core";
import { LRUCache } from "lru-cache";
import type { SessionState, SessionStateQuery, SessionStateReader } from "../ports/sessions.ts";
import type { Pool, Sql } from "./database.ts";
import { sessionColumns } from "./sessions.ts";

interface DenialColumns {
  identities: { agent: string; status: IdentityStatus }[];
  blocks: TimedBlock[];
}

interface StateRow extends SessionFacts, DenialColumns {
  revoked: boolean;
  session_epoch: string;
  denial_epoch: string;
  marks: MarkRow[];
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
        identities: statusesOf(identities),
        marks: viewsOf(marks),
      };
      states.set(keyOf(query), state);
      return asOf(state, query.nowMs);
    },
    cached(query) {
      const state = states.get(keyOf(query));
      return state && asOf(state, query.nowMs);
    },
    async denials(query): Promise<PresentDenials> {
      const [row] = await pool.run((sql) => sql<DenialColumns[]>`select ${denialColumns(sql, query)}`);
      if (row === undefined) throw new Error("a select without a condition returns a row");
      return { identities: statusesOf(row.identities), blocks: row.blocks };
    },
  };
};

const statusesOf = (rows: DenialColumns["identities"]): ReadonlyMap<string, IdentityStatus> =>
  new Map(rows.map(({ agent, status }) => [agent, status]));

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
const select = (sql: Sql, query: SessionStateQuery) => sql<StateRow[]>`
  select ${sessionColumns(sql)}, st.revoked_at is not null as revoked, st.epoch as session_epoch, d.epoch as denial_epoch,
    coalesce((select json_agg(json_build_object('member', m.member, 'source', m.source, 'observed', m.observed))
      from taint_mark m where m.session_id = s.session_id), '[]') as marks,
    ${denialColumns(sql, query)}
  from session s join session_state st using (session_id) cross join denial_epoch d
  where s.session_id = ${query.sessionId}`;

const denialColumns = (sql: Sql, { agents, nowMs }: Omit<SessionStateQuery, "sessionId">) => sql`
    coalesce((select json_agg(json_build_object('kind', b.kind, 'ref', b.ref,
        'untilMs', (extract(epoch from b.until) * 1000)::float8))
      from block b where b.until is null or b.until > ${new Date(nowMs)}), '[]') as blocks,
    coalesce((select json_agg(json_build_object('agent', a.name, 'status',
        case when r.agent_id is not null then 'revoked' else i.status end))
      from agent a left join agent_identity i using (agent_id) left join revocation r using (agent_id)
      where a.name = any(${agents as string[]}) and (r.agent_id is not null or i.agent_id is not null)), '[]')
      as identities`;

/** The same statement without a result, to warm up a connection. */
export const readNothing = (sql: Sql): Promise<unknown> =>
  select(sql, { sessionId: "00000000-0000-0000-0000-000000000000", agents: [], nowMs: 0 });
