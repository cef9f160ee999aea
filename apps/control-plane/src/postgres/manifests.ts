import type { AgentSummary, DefinitionChange, ReconciledVersion, ScopeSummary } from "@svc/core";
import type { AuditReads } from "../ports/audit-reads.ts";
import { AuthorityUnproven, type Manifests, type StoredManifest, type StoredReport } from "../ports/manifests.ts";
import type { Authenticity } from "./authenticity.ts";
import type { Fragment, Pool, Pools } from "./database.ts";
import { acceptedManifests, openSubmission } from "./manifest-submission.ts";
import { definitionTexts, withTexts } from "./tool-definitions.ts";

interface ReportRow extends Omit<StoredReport, "attestation" | "definitions"> {
  readonly definitions: readonly DefinitionChange[];
  readonly attestedBy: string | null;
  readonly attestationReason: string | null;
}

interface VersionRow extends Omit<ReconciledVersion, "definitions"> {
  readonly definitions: readonly DefinitionChange[];
}

/** Submissions wait for each other while they hold a connection, so they need a pool of their own. */
export const manifests = (
  { reader: { rows, sql }, submissions }: Pools<"reader" | "submissions">,
  marks: Authenticity,
  onUnproven: (fault: AuthorityUnproven) => void,
): Manifests => ({
  submit: (agent, work) =>
    reported(
      submissions.transaction(async (tx) => work(await openSubmission(tx, agent, marks, onUnproven))),
      onUnproven,
    ),
  accepted: (scopes) => reported(acceptedManifests({ rows }, scopes, marks), onUnproven),
  async acceptedScopes(agent) {
    const found = await rows<{ scope: string }>`
      select s.scope from manifest_scope s join (
        select m.agent_id, max(m.version) as version from manifest_version m join agent a using (agent_id)
        where a.name = ${agent} and m.status in ('reconciled', 'attested') group by m.agent_id
      ) newest using (agent_id, version)`;
    return found.map(({ scope }) => scope);
  },
  async agentId(name) {
    const [row] = await rows<{ agent_id: string }>`select agent_id from agent where name = ${name}`;
    return row?.agent_id;
  },
  async agentNames() {
    const found = await rows<{ name: string }>`select name from agent order by name collate "C"`;
    return found.map(({ name }) => name);
  },
  definitionTexts: (hashes) => definitionTexts({ rows }, hashes),
  /** Compares names by byte, so that no locale changes the pages. */
  listAgents: ({ status, after, limit }) => rows<AgentSummary>`
    select a.agent_id as "agentId", a.name, m.version as "latestVersion", m.status as "latestStatus"
    from agent a cross join lateral (
      select v.version, v.status from manifest_version v where v.agent_id = a.agent_id order by v.version desc limit 1
    ) m
    where true
      ${after === undefined ? sql`` : sql`and a.name collate "C" > ${after}`}
      ${status === undefined ? sql`` : sql`and m.status = ${status}`}
    order by a.name collate "C" limit ${limit}`,
  async report(agentId) {
    const scopesOf = (version: Fragment) => sql`array(select s.scope from manifest_scope s
      where s.agent_id = ${agentId} and s.version = ${version} order by s.scope collate "C")`;
    const [row] = await rows<ReportRow>`
      select r.manifest_version as "manifestVersion", r.status, r.discovery_ok as "discoveryOk", r.diff, r.discovery,
        r.definitions,
        m.attested_by as "attestedBy", m.attestation_reason as "attestationReason", r.checked_at as "checkedAtMs",
        ${scopesOf(sql`r.manifest_version`)} as scopes,
        (select jsonb_build_object('version', f.version, 'status', f.status, 'scopes', ${scopesOf(sql`f.version`)})
         from manifest_version f where f.agent_id = ${agentId} and f.status in ('reconciled', 'attested')
         order by f.version desc limit 1) as "inForce"
      from reconciliation_report r join manifest_version m on m.agent_id = r.agent_id and m.version = r.manifest_version
      where r.agent_id = ${agentId} order by r.manifest_version desc limit 1`;
    const [report] = row === undefined ? [] : await withTexts({ rows }, [row]);
    if (report === undefined) return undefined;
    const { attestedBy: by, attestationReason: reason, ...rest } = report;
    return { ...rest, attestation: report.status === "attested" && by !== null ? { by, reason } : null };
  },
  find: ({ scope, version, agent }) => rows<StoredManifest>`
    select a.name as agent, m.version, m.status, m.attested_by as "attestedBy", m.doc, m.created_at as "createdAtMs"
    from manifest_scope s join manifest_version m using (agent_id, version) join agent a using (agent_id)
    where s.scope = ${scope} ${agent === undefined ? sql`` : sql`and a.name = ${agent}`}
      ${
        version === undefined
          ? sql`and m.status in ('reconciled', 'attested') order by m.created_at desc, m.version desc limit 1`
          : sql`and m.status <> 'rejected' and m.version = ${version} order by a.name collate "C" limit 10`
      }`,
});

const reported = <T>(work: Promise<T>, onUnproven: (fault: AuthorityUnproven) => void): Promise<T> =>
  work.catch((error: unknown) => {
    if (error instanceof AuthorityUnproven) onUnproven(error);
    throw error;
  });

type Declarations = "scopes" | "scopesOfTool" | "versions" | "acceptedManifests";

/** Manifests and policies for people who read them. */
export const declarations = ({ rows, sql }: Pool): Pick<AuditReads, Declarations> => ({
  /** Compares names by byte, so that no locale changes the pages. */
  scopes: ({ agent, after, limit }) => rows<ScopeSummary>`
    select p.scope, p.version, p.schema_version as "schemaVersion", p.created_at as "compiledAtMs"
    from (
      select scope, max(version) as version from compiled_policy
      where true ${after === undefined ? sql`` : sql`and scope collate "C" > ${after}`}
        ${
          agent === undefined
            ? sql``
            : sql`and scope in (
              select scope from manifest_scope join (
                select m.agent_id, max(m.version) as version from manifest_version m join agent a using (agent_id)
                where a.name = ${agent} and m.status in ('reconciled', 'attested') group by m.agent_id
              ) accepted using (agent_id, version)
            )`
        }
      group by scope order by scope collate "C" limit ${limit}
    ) newest join compiled_policy p using (scope, version)
    order by p.scope collate "C"`,
  /** A reference has no character that JSON escapes, so the document has it in quotes. */
  scopesOfTool: (tool, limit) => rows<ScopeSummary>`
    select p.scope, p.version, p.schema_version as "schemaVersion", p.created_at as "compiledAtMs"
    from (select scope, max(version) as version from compiled_policy group by scope) newest
      join compiled_policy p using (scope, version)
    where strpos(p.document, ${JSON.stringify(tool)}) > 0
    order by p.scope collate "C" limit ${limit}`,
  versions: async ({ agentId, after, limit }) => {
    const found = await rows<VersionRow>`
    select m.version, m.status, m.attested_by as "attestedBy", m.attestation_reason as "attestationReason", m.doc,
      m.created_at as "createdAtMs", coalesce(r.discovery_ok, false) as "discoveryOk", coalesce(r.diff, '[]') as diff,
      coalesce(r.discovery, '[]') as discovery, coalesce(r.definitions, '[]') as definitions
    from manifest_version m left join reconciliation_report r
      on r.agent_id = m.agent_id and r.manifest_version = m.version
    where m.agent_id = ${agentId} ${after === undefined ? sql`` : sql`and m.version < ${after}`}
    order by m.version desc limit ${limit}`;
    return withTexts({ rows }, found);
  },
  async acceptedManifests(agents) {
    const accepted = await rows<{ name: string; doc: string }>`
      select distinct on (a.agent_id) a.name, m.doc
      from agent a join manifest_version m using (agent_id)
      where a.name = any(${agents as string[]}) and m.status in ('reconciled', 'attested')
      order by a.agent_id, m.version desc`;
    return new Map(accepted.map(({ name, doc }) => [name, doc]));
  },
});
