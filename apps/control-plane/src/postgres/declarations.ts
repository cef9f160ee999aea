import type { DiffEntry, ManifestStatus } from "@svc/core";
import type { Declarations, ScopeQuery, ScopeSummary, SubmittedVersion, VersionQuery } from "../ports/declarations.ts";
import { bounded, type Sql } from "./database.ts";

export const declarations = (sql: Sql, deadlineMs: number): Declarations => ({
  scopes: (query) => bounded(deadlineMs, scopes(sql, query)),
  versions: (query) => bounded(deadlineMs, versions(sql, query)),
  accepted: (agents) => bounded(deadlineMs, accepted(sql, agents)),
});

interface ScopeRow {
  scope: string;
  version: number;
  schema_version: number;
  created_at: Date;
}

/** Names are compared by byte, so that no locale moves the pages. */
async function scopes(sql: Sql, { after, limit }: ScopeQuery): Promise<readonly ScopeSummary[]> {
  const rows = await sql<ScopeRow[]>`
    select p.scope, p.version, p.schema_version, p.created_at
    from (
      select scope, max(version) as version from compiled_policy
      where true ${after === undefined ? sql`` : sql`and scope collate "C" > ${after}`}
      group by scope order by scope collate "C" limit ${limit}
    ) newest join compiled_policy p using (scope, version)
    order by p.scope collate "C"`;
  return rows.map((row) => ({
    scope: row.scope,
    version: row.version,
    schemaVersion: row.schema_version,
    compiledAtMs: row.created_at.getTime(),
  }));
}

interface VersionRow {
  version: number;
  status: ManifestStatus;
  attested_by: string | null;
  attestation_reason: string | null;
  doc: string;
  created_at: Date;
  discovery_ok: boolean | null;
  diff: DiffEntry[] | null;
}

async function versions(sql: Sql, { agentId, before, limit }: VersionQuery): Promise<readonly SubmittedVersion[]> {
  const rows = await sql<VersionRow[]>`
    select m.version, m.status, m.attested_by, m.attestation_reason, m.doc, m.created_at, r.discovery_ok, r.diff
    from manifest_version m left join reconciliation_report r
      on r.agent_id = m.agent_id and r.manifest_version = m.version
    where m.agent_id = ${agentId} ${before === undefined ? sql`` : sql`and m.version < ${before}`}
    order by m.version desc limit ${limit}`;
  return rows.map((row) => ({
    version: row.version,
    status: row.status,
    attestedBy: row.attested_by,
    attestationReason: row.attestation_reason,
    doc: row.doc,
    createdAtMs: row.created_at.getTime(),
    discoveryOk: row.discovery_ok ?? false,
    diff: row.diff ?? [],
  }));
}

async function accepted(sql: Sql, agents: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await sql<{ name: string; doc: string }[]>`
    select distinct on (a.agent_id) a.name, m.doc
    from agent a join manifest_version m using (agent_id)
    where a.name = any(${agents as string[]}) and m.status in ('reconciled', 'attested')
    order by a.agent_id, m.version desc`;
  return new Map(rows.map(({ name, doc }) => [name, doc]));
}
