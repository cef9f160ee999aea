import type {
  AgentQuery,
  AgentSummary,
  ManifestQuery,
  ManifestSubmissions,
  Manifests,
  StoredManifest,
  StoredReport,
} from "../ports/manifests.ts";
import type { Pool, Sql } from "./database.ts";
import { openSubmission } from "./manifest-submission.ts";

/** Submissions wait for each other while they hold a connection, so they need a pool of their own. */
export const manifestSubmissions = (pool: Pool): ManifestSubmissions => ({
  submit: (agent, work) => pool.transaction(async (tx) => work(await openSubmission(tx, agent))),
});

export const manifests = (reader: Pool): Manifests => ({
  agentId: (name) => reader.run((sql) => agentId(sql, name)),
  listAgents: (query) => reader.run((sql) => listAgents(sql, query)),
  report: (id) => reader.run((sql) => report(sql, id)),
  find: (query) => reader.run((sql) => find(sql, query)),
});

async function agentId(sql: Sql, name: string): Promise<string | undefined> {
  const [row] = await sql<{ agent_id: string }[]>`select agent_id from agent where name = ${name}`;
  return row?.agent_id;
}

/** Compares names by byte, so that no locale changes the pages. */
const listAgents = (sql: Sql, { status, afterName, limit }: AgentQuery) => sql<AgentSummary[]>`
  select a.agent_id as "agentId", a.name, m.version as "latestVersion", m.status as "latestStatus"
  from agent a cross join lateral (
    select v.version, v.status from manifest_version v where v.agent_id = a.agent_id order by v.version desc limit 1
  ) m
  where true
    ${afterName === undefined ? sql`` : sql`and a.name collate "C" > ${afterName}`}
    ${status === undefined ? sql`` : sql`and m.status = ${status}`}
  order by a.name collate "C" limit ${limit}`;

interface ReportRow extends Omit<StoredReport, "attestation"> {
  readonly attestedBy: string | null;
  readonly attestationReason: string | null;
}

async function report(sql: Sql, id: string): Promise<StoredReport | undefined> {
  const [row] = await sql<ReportRow[]>`
    select r.manifest_version as "manifestVersion", r.status, r.discovery_ok as "discoveryOk", r.diff,
      m.attested_by as "attestedBy", m.attestation_reason as "attestationReason", r.checked_at as "checkedAtMs"
    from reconciliation_report r join manifest_version m on m.agent_id = r.agent_id and m.version = r.manifest_version
    where r.agent_id = ${id} order by r.manifest_version desc limit 1`;
  if (row === undefined) return undefined;
  const { attestedBy: by, attestationReason: reason, ...rest } = row;
  return { ...rest, attestation: row.status === "attested" && by !== null ? { by, reason } : null };
}

async function find(sql: Sql, { scope, version, agent }: ManifestQuery): Promise<StoredManifest | undefined> {
  const [row] = await sql<StoredManifest[]>`
    select a.name as agent, m.version, m.status, m.attested_by as "attestedBy", m.doc, m.created_at as "createdAtMs"
    from manifest_scope s join manifest_version m using (agent_id, version) join agent a using (agent_id)
    where s.scope = ${scope}
      ${version === undefined ? sql`and m.status in ('reconciled', 'attested')` : sql`and m.version = ${version}`}
      ${agent === undefined ? sql`` : sql`and a.name = ${agent}`}
    order by m.created_at desc, m.version desc limit 1`;
  return row;
}
