import { type Definitions, encodePolicyDocument, policySchemaVersion, serverName } from "@svc/core";
import { budgets } from "../budgets.ts";
import {
  type AcceptedManifest,
  AuthorityUnproven,
  type ManifestSubmission,
  type NameClaim,
  type RegisteredAgent,
  type StoredPolicy,
} from "../ports/manifests.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import { type Authenticity, isProven, type Marked, type MarkedParts } from "./authenticity.ts";
import type { Pool, Transaction } from "./database.ts";
import { addToRecord, namesOnRecord } from "./names-on-record.ts";
import { addDefinitions, decodeDefinitions, encodeDefinitions, withTexts } from "./tool-definitions.ts";

/** Advisory locks share one 64-bit space; the seeds keep agents, scopes and servers apart. */
const lockSeed = { agent: 7_270_125_101, scope: 7_270_125_102, server: 7_270_125_103 } as const;

/** Of no release. */
const unprovenSchema = -1;

/** Takes the agent's lock. */
export async function openSubmission(
  tx: Transaction,
  agent: string,
  marks: Authenticity,
  onUnproven: (fault: AuthorityUnproven) => void,
): Promise<ManifestSubmission> {
  // Submissions of one agent queue up behind compilations, which may take seconds.
  const timeout = `${budgets.submitStep}ms`;
  await tx`select set_config('lock_timeout', ${timeout}, true), set_config('statement_timeout', ${timeout}, true)`;
  await tx`select pg_advisory_xact_lock(hashtextextended(${agent}, ${lockSeed.agent}))`;
  const [registered] = await tx<RegisteredAgent[]>`
    select a.agent_id as "agentId", max(m.version) as "latestVersion",
      array(select s.scope from manifest_scope s where s.agent_id = a.agent_id and s.version =
        max(m.version) filter (where m.status in ('reconciled', 'attested'))) as "acceptedScopes"
    from agent a join manifest_version m using (agent_id)
    where a.name = ${agent}
    group by a.agent_id`;
  return {
    agent: registered,
    lockScopes: (scopes) => lock(tx, scopes, lockSeed.scope),
    async namesOnRecord(refs) {
      await lockNames(tx, refs);
      return namesOnRecord(tx, refs, { marks, onUnproven });
    },
    addToRecord: (accepted, atMs) => addToRecord(tx, accepted, new Date(atMs), marks),
    claimNames: (claims) => claimNames(tx, claims),
    async addAgent({ agentId, name, createdAtMs }) {
      await tx`insert into agent (agent_id, name, created_at) values (${agentId}, ${name}, ${new Date(createdAtMs)})`;
    },
    async addVersion({ agentId, version, status, attestedBy, attestationReason, doc, scopes, createdAtMs, ...pinned }) {
      const definitions = encodeDefinitions(pinned.definitions);
      await tx`
        insert into manifest_version (agent_id, version, status, attested_by, attestation_reason, doc, created_at, mac,
          definitions, definitions_mac)
        values (${agentId}, ${version}, ${status}, ${attestedBy}, ${attestationReason}, ${doc},
          ${new Date(createdAtMs)}, ${marks.mac(["manifest", agent, version, status, doc])},
          ${definitions}, ${marks.mac(["definitions", agent, version, definitions])})`;
      await tx`
        insert into manifest_scope (agent_id, version, scope)
        select ${agentId}, ${version}, scope from unnest(${scopes as string[]}::text[]) scope`;
    },
    addDefinitions: (definitions, atMs) => addDefinitions(tx, definitions, new Date(atMs)),
    async withTexts(definitions) {
      const [report] = await withTexts({ rows: (text, ...values) => tx(text, ...values) }, [{ definitions }]);
      return report?.definitions ?? [];
    },
    async addReport({ reportId, agentName, agentId, manifestVersion, status, discoveryOk, checkedAtMs, ...found }) {
      await tx`
        insert into reconciliation_report
          (report_id, agent_name, agent_id, manifest_version, status, discovery_ok, diff, discovery, definitions,
          checked_at)
        values (${reportId}, ${agentName}, ${agentId}, ${manifestVersion}, ${status}, ${discoveryOk},
          ${JSON.stringify(found.diff)}::text::jsonb, ${JSON.stringify(found.discovery)}::text::jsonb,
          ${JSON.stringify(found.definitions)}::text::jsonb, ${new Date(checkedAtMs)})`;
    },
    acceptedManifests: (scopes) => acceptedManifests({ rows: (text, ...values) => tx(text, ...values) }, scopes, marks),
    async latestPolicies(scopes) {
      const rows = await tx<(StoredPolicy & Marked & { scope: string })[]>`
        select distinct on (p.scope) p.scope, p.version, p.schema_version as "schemaVersion", p.document as text, p.mac,
          u.document_hash as "listedHash"
        from compiled_policy p
        left join unmarked u on u.kind = 'policy' and u.name = p.scope and u.version = p.version
        where p.scope = any(${scopes as string[]}) order by p.scope, p.version desc`;
      const schemaOf = ({ scope, schemaVersion, ...row }: (typeof rows)[number]): number =>
        isProven(marks, row, ["policy", scope, row.version, row.text], row.text) ? schemaVersion : unprovenSchema;
      return new Map(
        rows.map((row) => [row.scope, { version: row.version, text: row.text, schemaVersion: schemaOf(row) }]),
      );
    },
    async addPolicy({ document, version, createdAtMs }) {
      const text = encodePolicyDocument(document);
      await tx`
        insert into compiled_policy (scope, version, schema_version, document, created_at, mac)
        values (${document.scope}, ${version}, ${policySchemaVersion}, ${text}, ${new Date(createdAtMs)},
          ${marks.mac(["policy", document.scope, version, text])})`;
    },
    addEvent: (event) => insertAdministrativeEvent(tx, event),
  };
}

/** The latest version of each agent, even if it no longer touches the scope: one that dropped a scope stays out. */
export async function acceptedManifests(
  { rows }: Pick<Pool, "rows">,
  scopes: readonly string[],
  marks: Authenticity,
): Promise<readonly AcceptedManifest[]> {
  const found = await rows<AcceptedRow>`
        select distinct on (m.agent_id) a.name as agent, m.version, m.doc, m.status, m.mac, m.definitions,
          m.definitions_mac as "definitionsMac", u.document_hash as "listedHash"
        from manifest_version m join agent a using (agent_id)
        left join unmarked u on u.kind = 'manifest' and u.name = m.agent_id::text and u.version = m.version
        where m.status in ('reconciled', 'attested')
          and m.agent_id in (select agent_id from manifest_scope where scope = any(${scopes as string[]}))
        order by m.agent_id, m.version desc`;
  for (const row of found) {
    const parts: MarkedParts = ["manifest", row.agent, row.version, row.status, row.doc];
    if (!isProven(marks, row, parts, row.doc)) {
      throw new AuthorityUnproven(`the manifest of agent ${row.agent}, version ${row.version},`);
    }
  }
  return found.map((row) => ({ ...row, definitions: provenDefinitions(marks, row) }));
}

interface AcceptedRow extends Omit<AcceptedManifest, "definitions">, Marked {
  readonly status: string;
  readonly definitions: string | null;
  readonly definitionsMac: string | null;
}

/** None of a version that a release before stored. */
function provenDefinitions(
  marks: Authenticity,
  { agent, version, definitions, definitionsMac }: AcceptedRow,
): Definitions {
  if (definitions === null) return new Map();
  if (!marks.holds(definitionsMac, ["definitions", agent, version, definitions])) {
    throw new AuthorityUnproven(`the tool definitions of agent ${agent}, version ${version},`);
  }
  return decodeDefinitions(definitions);
}

/** Always in the same order, so that two submissions never wait for each other. */
async function lock(tx: Transaction, names: readonly string[], seed: number): Promise<void> {
  await tx`
    select pg_advisory_xact_lock(key) from (
      select distinct hashtextextended(name, ${seed}) as key from unnest(${names as string[]}::text[]) name order by key
    ) keys`;
}

async function lockNames(tx: Transaction, refs: readonly string[]): Promise<void> {
  const servers = refs.map(serverName).filter((name) => name !== undefined);
  // A reference without a server has facts too.
  await lock(tx, [...servers, ...refs.filter((ref) => serverName(ref) === undefined)], lockSeed.server);
}

/** Thrown to undo a savepoint. */
class NamesTaken extends Error {}

/** The savepoint undoes all claims if one name is taken. */
async function claimNames(tx: Transaction, claims: readonly NameClaim[]): Promise<readonly NameClaim[]> {
  const names = claims.map(({ name }) => name);
  const kinds = claims.map(({ kind }) => kind);
  let taken: readonly NameClaim[] = [];
  await tx
    .savepoint(async (sp) => {
      await sp`
        insert into claimed_name (name, kind)
        select name, kind from unnest(${names}::text[], ${kinds}::text[]) as claim (name, kind) order by name
        on conflict do nothing`;
      taken = await sp<NameClaim[]>`
        select claim.name, claim.kind from unnest(${names}::text[], ${kinds}::text[]) as claim (name, kind)
        join claimed_name using (name) where claimed_name.kind <> claim.kind order by claim.name`;
      if (taken.length > 0) throw new NamesTaken();
    })
    .catch((error: unknown) => {
      if (!(error instanceof NamesTaken)) throw error;
    });
  return taken;
}
