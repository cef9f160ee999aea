import { encodePolicyDocument, policySchemaVersion } from "@svc/core";
import type {
  AcceptedManifest,
  ManifestSubmission,
  NameClaim,
  NewManifestVersion,
  NewPolicy,
  NewReport,
  RegisteredAgent,
  StoredPolicy,
} from "../ports/manifests.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import type { Transaction } from "./database.ts";

/** Advisory locks share one 64-bit space; the seeds keep agents and scopes apart. */
const lockSeed = { agent: 7_270_125_101, scope: 7_270_125_102 } as const;

/** Takes the agent's lock. */
export async function openSubmission(tx: Transaction, agent: string): Promise<ManifestSubmission> {
  // Submissions of one agent queue up behind compilations, which may take seconds.
  await tx`select set_config('lock_timeout', '10s', true), set_config('statement_timeout', '10s', true)`;
  await tx`select pg_advisory_xact_lock(hashtextextended(${agent}, ${lockSeed.agent}))`;
  return {
    agent: await registeredAgent(tx, agent),
    lockScopes: (scopes) => lockScopes(tx, scopes),
    claimNames: (claims) => claimNames(tx, claims),
    async addAgent({ agentId, name, createdAtMs }) {
      await tx`insert into agent (agent_id, name, created_at) values (${agentId}, ${name}, ${new Date(createdAtMs)})`;
    },
    addVersion: (version) => addVersion(tx, version),
    addReport: (report) => addReport(tx, report),
    acceptedManifests: (scopes) => acceptedManifests(tx, scopes),
    latestPolicies: (scopes) => latestPolicies(tx, scopes),
    addPolicy: (policy) => addPolicy(tx, policy),
    addEvent: (event) => insertAdministrativeEvent(tx, event),
  };
}

async function registeredAgent(tx: Transaction, name: string): Promise<RegisteredAgent | undefined> {
  const [row] = await tx<RegisteredAgent[]>`
    select a.agent_id as "agentId", max(m.version) as "latestVersion",
      array(select s.scope from manifest_scope s where s.agent_id = a.agent_id and s.version =
        max(m.version) filter (where m.status in ('reconciled', 'attested'))) as "acceptedScopes"
    from agent a join manifest_version m using (agent_id)
    where a.name = ${name}
    group by a.agent_id`;
  return row;
}

/** Always in the same order, so that two submissions never wait for each other. */
async function lockScopes(tx: Transaction, scopes: readonly string[]): Promise<void> {
  await tx`
    select pg_advisory_xact_lock(key) from (
      select distinct hashtextextended(scope, ${lockSeed.scope}) as key from unnest(${scopes as string[]}::text[]) scope
      order by key
    ) keys`;
}

/** The savepoint undoes all claims if one name is taken. */
async function claimNames(tx: Transaction, claims: readonly NameClaim[]): Promise<readonly NameClaim[]> {
  const names = claims.map(({ name }) => name);
  const kinds = claims.map(({ kind }) => kind);
  try {
    await tx.savepoint(async (sp) => {
      await sp`
        insert into claimed_name (name, kind)
        select name, kind from unnest(${names}::text[], ${kinds}::text[]) as claim (name, kind) order by name
        on conflict do nothing`;
      const taken = await sp<NameClaim[]>`
        select claim.name, claim.kind from unnest(${names}::text[], ${kinds}::text[]) as claim (name, kind)
        join claimed_name using (name) where claimed_name.kind <> claim.kind order by claim.name`;
      if (taken.length > 0) throw new NamesTaken(taken);
    });
    return [];
  } catch (error) {
    if (error instanceof NamesTaken) return error.claims;
    throw error;
  }
}

class NamesTaken extends Error {
  readonly claims: readonly NameClaim[];

  constructor(claims: readonly NameClaim[]) {
    super("some names are claimed as the other kind");
    this.claims = claims;
  }
}

async function addVersion(tx: Transaction, added: NewManifestVersion): Promise<void> {
  const { agentId, version, status, attestedBy, attestationReason, doc, scopes, createdAtMs } = added;
  await tx`
    insert into manifest_version
      (agent_id, version, status, attested_by, attestation_reason, doc, created_at)
    values (${agentId}, ${version}, ${status}, ${attestedBy}, ${attestationReason}, ${doc}, ${new Date(createdAtMs)})`;
  await tx`
    insert into manifest_scope (agent_id, version, scope)
    select ${agentId}, ${version}, scope from unnest(${scopes as string[]}::text[]) scope`;
}

async function addReport(tx: Transaction, report: NewReport): Promise<void> {
  await tx`
    insert into reconciliation_report
      (report_id, agent_name, agent_id, manifest_version, status, discovery_ok, diff, checked_at)
    values (${report.reportId}, ${report.agentName}, ${report.agentId}, ${report.manifestVersion}, ${report.status},
      ${report.discoveryOk}, ${JSON.stringify(report.diff)}::text::jsonb, ${new Date(report.checkedAtMs)})`;
}

/** The latest version of each agent, even if it no longer touches the scope: an agent that dropped a scope stays out. */
const acceptedManifests = (tx: Transaction, scopes: readonly string[]): Promise<readonly AcceptedManifest[]> => tx<
  AcceptedManifest[]
>`
  select distinct on (m.agent_id) a.name as agent, m.version, m.doc
  from manifest_version m join agent a using (agent_id)
  where m.status in ('reconciled', 'attested')
    and m.agent_id in (select agent_id from manifest_scope where scope = any(${scopes as string[]}))
  order by m.agent_id, m.version desc`;

async function latestPolicies(tx: Transaction, scopes: readonly string[]): Promise<ReadonlyMap<string, StoredPolicy>> {
  const rows = await tx<(StoredPolicy & { scope: string })[]>`
    select distinct on (scope) scope, version, schema_version as "schemaVersion", document as text from compiled_policy
    where scope = any(${scopes as string[]}) order by scope, version desc`;
  return new Map(rows.map(({ scope, ...policy }) => [scope, policy]));
}

async function addPolicy(tx: Transaction, { document, version, createdAtMs }: NewPolicy): Promise<void> {
  await tx`
    insert into compiled_policy (scope, version, schema_version, document, created_at)
    values (${document.scope}, ${version}, ${policySchemaVersion}, ${encodePolicyDocument(document)},
      ${new Date(createdAtMs)})`;
}
