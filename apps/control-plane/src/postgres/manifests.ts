import type { DiffEntry, ManifestStatus } from "@svc/core";
import type {
  AgentQuery,
  AgentSummary,
  ManifestQuery,
  Manifests,
  StoredManifest,
  StoredReport,
} from "../ports/manifests.ts";
import { bounded, type Sql } from "./database.ts";
import { openSubmission } from "./manifest-submission.ts";

export interface ManifestStoreSettings {
  /** Submissions wait for each other while they hold a connection: a pool of their own keeps them from the hops'. */
  readonly submissions: Sql;
  readonly reader: Sql;
  readonly submitDeadlineMs: number;
  readonly readDeadlineMs: number;
}

export const manifestStore = (settings: ManifestStoreSettings): Manifests => {
  const { submissions, reader, submitDeadlineMs, readDeadlineMs } = settings;
  return {
    async submit<T>(agent: string, work: (submission: Awaited<ReturnType<typeof openSubmission>>) => Promise<T>) {
      // The driver's type unwraps arrays of promises, which no result here is.
      const done = submissions.begin(async (tx) => ({ result: await work(await openSubmission(tx, agent)) }));
      return (await bounded<{ result: T }>(submitDeadlineMs, done as Promise<{ result: T }>)).result;
    },
    agentId: (name) => bounded(readDeadlineMs, agentId(reader, name)),
    listAgents: (query) => bounded(readDeadlineMs, listAgents(reader, query)),
    report: (id) => bounded(readDeadlineMs, report(reader, id)),
    find: (query) => bounded(readDeadlineMs, find(reader, query)),
  };
};

async function agentId(sql: Sql, name: string): Promise<string | undefined> {
  const [row] = await sql<{ agent_id: string }[]>`select agent_id from agent where name = ${name}`;
  return row?.agent_id;
}

interface AgentRow {
  agent_id: string;
  name: string;
  version: number;
  status: ManifestStatus;
}

/** Names are compared by byte, so that no locale moves the pages. */
async function listAgents(sql: Sql, { status, afterName, limit }: AgentQuery): Promise<readonly AgentSummary[]> {
  const rows = await sql<AgentRow[]>`
    select a.agent_id, a.name, m.version, m.status
    from agent a cross join lateral (
      select v.version, v.status from manifest_version v where v.agent_id = a.agent_id order by v.version desc limit 1
    ) m
    where true
      ${afterName === undefined ? sql`` : sql`and a.name collate "C" > ${afterName}`}
      ${status === undefined ? sql`` : sql`and m.status = ${status}`}
    order by a.name collate "C" limit ${limit}`;
  return rows.map((row) => ({
    agentId: row.agent_id,
    name: row.name,
    latestVersion: row.version,
    latestStatus: row.status,
  }));
}

interface ReportRow {
  manifest_version: number;
  status: ManifestStatus;
  discovery_ok: boolean;
  diff: DiffEntry[];
  attested_by: string | null;
  attestation_reason: string | null;
  checked_at: Date;
}

async function report(sql: Sql, id: string): Promise<StoredReport | undefined> {
  const [row] = await sql<ReportRow[]>`
    select r.manifest_version, r.status, r.discovery_ok, r.diff, m.attested_by, m.attestation_reason, r.checked_at
    from reconciliation_report r join manifest_version m on m.agent_id = r.agent_id and m.version = r.manifest_version
    where r.agent_id = ${id} order by r.manifest_version desc limit 1`;
  return row && toReport(row);
}

const toReport = (row: ReportRow): StoredReport => ({
  manifestVersion: row.manifest_version,
  status: row.status,
  discoveryOk: row.discovery_ok,
  diff: row.diff,
  attestation:
    row.status === "attested" && row.attested_by !== null
      ? { by: row.attested_by, reason: row.attestation_reason }
      : null,
  checkedAtMs: row.checked_at.getTime(),
});

interface ManifestRow {
  agent: string;
  version: number;
  status: ManifestStatus;
  attested_by: string | null;
  doc: string;
  created_at: Date;
}

async function find(sql: Sql, { scope, version, agent }: ManifestQuery): Promise<StoredManifest | undefined> {
  const [row] = await sql<ManifestRow[]>`
    select a.name as agent, m.version, m.status, m.attested_by, m.doc, m.created_at
    from manifest_scope s join manifest_version m using (agent_id, version) join agent a using (agent_id)
    where s.scope = ${scope}
      ${version === undefined ? sql`and m.status in ('reconciled', 'attested')` : sql`and m.version = ${version}`}
      ${agent === undefined ? sql`` : sql`and a.name = ${agent}`}
    order by m.created_at desc, m.version desc limit 1`;
  return (
    row && {
      agent: row.agent,
      version: row.version,
      status: row.status,
      attestedBy: row.attested_by,
      doc: row.doc,
      createdAtMs: row.created_at.getTime(),
    }
  );
}
