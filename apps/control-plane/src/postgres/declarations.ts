import type { Declarations, ScopeQuery, ScopeSummary, SubmittedVersion, VersionQuery } from "../ports/declarations.ts";
import type { Pool, Sql } from "./database.ts";

export const declarations = (pool: Pool): Declarations => ({
  scopes: (query) => pool.run((sql) => scopes(sql, query)),
  versions: (query) => pool.run((sql) => versions(sql, query)),
  accepted: (agents) => pool.run((sql) => accepted(sql, agents)),
});

/** Compares names by byte, so that no locale changes the pages. */
const scopes = (sql: Sql, { after, limit }: ScopeQuery) => sql<ScopeSummary[]>`
  select p.scope, p.version, p.schema_version as "schemaVersion", p.created_at as "compiledAtMs"
  from (
    select scope, max(version) as version from compiled_policy
    where true ${after === undefined ? sql`` : sql`and scope collate "C" > ${after}`}
    group by scope order by scope collate "C" limit ${limit}
  ) newest join compiled_policy p using (scope, version)
  order by p.scope collate "C"`;

const versions = (sql: Sql, { agentId, before, limit }: VersionQuery) => sql<SubmittedVersion[]>`
  select m.version, m.status, m.attested_by as "attestedBy", m.attestation_reason as "attestationReason", m.doc,
    m.created_at as "createdAtMs", coalesce(r.discovery_ok, false) as "discoveryOk", coalesce(r.diff, '[]') as diff
  from manifest_version m left join reconciliation_report r
    on r.agent_id = m.agent_id and r.manifest_version = m.version
  where m.agent_id = ${agentId} ${before === undefined ? sql`` : sql`and m.version < ${before}`}
  order by m.version desc limit ${limit}`;

async function accepted(sql: Sql, agents: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await sql<{ name: string; doc: string }[]>`
    select distinct on (a.agent_id) a.name, m.doc
    from agent a join manifest_version m using (agent_id)
    where a.name = any(${agents as string[]}) and m.status in ('reconciled', 'attested')
    order by a.agent_id, m.version desc`;
  return new Map(rows.map(({ name, doc }) => [name, doc]));
}
