import postgres from "postgres";
import type {
  PlacesQuery,
  WouldBlockPlace,
  WouldBlockPosition,
  WouldBlockQuery,
  WouldBlockRow,
} from "../src/ports/audit-reads.ts";
import { poolOf } from "../src/postgres/database.ts";
import { wouldBlockCounts } from "../src/postgres/would-block/counts.ts";
import { wouldBlockPlaceReads } from "../src/postgres/would-block/places.ts";
import { wouldBlockReads } from "../src/postgres/would-block/reads.ts";
import { wouldBlockScopeReads } from "../src/postgres/would-block/scopes.ts";
import { connectForAudit } from "../src/start/stores.ts";
import { type Row, recorder } from "./decision-rows.ts";
import { startPlane } from "./support.ts";

/** A database whose observed denies are counted only when a test says so. */
export async function countedPlane() {
  const plane = await startPlane();
  const records = await recorder(plane);
  const owner = postgres(plane.database.ownerUrl, { max: 4, onnotice: () => {} });
  const audit = connectForAudit(plane.database.appUrl, 2);
  const { wouldBlocks } = wouldBlockReads(poolOf(audit, 60_000));
  const { observedByScope } = wouldBlockScopeReads(poolOf(audit, 60_000));
  const { wouldBlockPlaces } = wouldBlockPlaceReads(poolOf(audit, 60_000));
  return {
    plane,
    records,
    owner,
    audit,
    counts: wouldBlockCounts(plane.stores.submissions),
    list: async (query: WouldBlockQuery) => (await wouldBlocks(query)).map(shown),
    observedByScope,
    /** At most so many rows; how many. */
    async count(most = 100_000): Promise<number> {
      const [row] = await owner<{ rows: number }[]>`select count_would_block_rows(${most}) as rows`;
      return row?.rows ?? 0;
    },
    async record(rows: readonly Row[]): Promise<void> {
      if (rows.length > 0) await records.sql`insert into decision ${records.sql(rows as never)}`;
    },
    /** By the one statement that needs no counts. */
    listFromLog: (query: WouldBlockQuery) => listFromLog(owner, query),
    places: async (query: PlacesQuery) => (await wouldBlockPlaces(query)).map((places) => places?.map(asText).sort()),
    placesFromLog: (query: PlacesQuery) =>
      Promise.all(query.groups.map(async (group) => (await placesFromLog(owner, query, group)).map(asText).sort())),
    async stop() {
      await Promise.all([records.sql.end(), owner.end(), audit.end()]);
      await plane.stop();
    },
  };
}

export const everything: WouldBlockQuery = { after: undefined, limit: 1_000 };

export const observedDeny = { decision: "deny", deny_reason: "TARGET_NOT_DECLARED", enforced: false };

const shown = ({ actingAgent, target, targetKind, denyReason, dataClass, ...rest }: WouldBlockRow) => ({
  ...{ actingAgent, target, targetKind, denyReason, dataClass, count: rest.count },
  ...{ firstMs: rest.firstMs, lastMs: rest.lastMs, position: rest.position },
});

const moment = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());

async function listFromLog(owner: postgres.Sql, { scope, sinceMs, untilMs, after, limit }: WouldBlockQuery) {
  const rows = await owner<(ReturnType<typeof shown> & { classHash: string; first: Date; last: Date })[]>`
    select d.acting_agent as "actingAgent", d.target, d.target_kind as "targetKind", d.deny_reason as "denyReason",
      md5(d.data_class) as "classHash", min(d.data_class) as "dataClass", count(*)::float8 as count,
      min(d.decided_at) as first, max(d.decided_at) as last
    from decision d
    where not d.enforced and d.decision = 'deny'
      ${after === undefined ? owner`` : isBehind(owner, after)}
      and d.decided_at >= coalesce(${moment(sinceMs)}::timestamptz, '-infinity')
      and d.decided_at < coalesce(${moment(untilMs)}::timestamptz, 'infinity')
      and (${scope ?? null}::text is null or exists (
        select from session s where s.session_id = d.session_id and s.scope = ${scope ?? null}))
    group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5 limit ${limit}`;
  return rows.map(({ classHash, first, last, ...group }) => ({
    ...group,
    firstMs: first.getTime(),
    lastMs: last.getTime(),
    position: [group.actingAgent, group.target, group.targetKind, String(group.denyReason), classHash] as const,
  }));
}

const asText = (place: WouldBlockPlace): string => JSON.stringify(place);

const placesFromLog = (
  owner: postgres.Sql,
  { scope, sinceMs }: PlacesQuery,
  [agent, target, kind, reason, classHash]: WouldBlockPosition,
) => owner<WouldBlockPlace[]>`
  select distinct s.scope, d.hop, d.chain, d.taint, p.data_class as "narrowedTo"
  from decision d join session s using (session_id) left join decision p on p.action_id = d.parent_action_id and d.hop > 1
  where not d.enforced and d.decision = 'deny'
    and (d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class))
      = (${agent}, ${target}, ${kind}, ${reason}, ${classHash})
    and (${scope ?? null}::text is null or s.scope = ${scope ?? null})
    and d.decided_at >= coalesce(${moment(sinceMs)}::timestamptz, '-infinity')`;

const isBehind = (owner: postgres.Sql, [agent, target, kind, reason, classHash]: WouldBlockPosition) => owner`
  and (d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class))
    > (${agent}, ${target}, ${kind}, ${reason}, ${classHash})`;
