import { decodePolicyDocument, indexPolicy, type PolicyIndex, policySchemaVersion } from "@svc/core";
import { LRUCache } from "lru-cache";
import type { LatestPolicy, Policies } from "../ports/policies.ts";
import { bounded, type Sql } from "./database.ts";

interface PolicyKey {
  readonly scope: string;
  readonly version: number;
}

interface Indexed {
  readonly index: PolicyIndex;
  readonly documentLength: number;
}

/** Of the documents whose indexes are kept; an index takes a small multiple of it. */
const cachedDocumentLength = 67_108_864;

/**
 * Policies are immutable, so an index is made once a process: parsing and indexing a large one costs more than any
 * decision. Requests for one that is being made wait for it.
 */
export const policyStore = (sql: Sql, deadlineMs: number): Policies => {
  const indexes = new LRUCache<string, Indexed, PolicyKey>({
    max: 10_000,
    maxSize: cachedDocumentLength,
    sizeCalculation: ({ documentLength }) => documentLength,
    fetchMethod: (_key, _stale, { context }) => bounded(deadlineMs, load(sql, context)),
    // A load that outlives its place in the cache still answers those who wait for it.
    ignoreFetchAbort: true,
  });
  const pinned = async (scope: string, version: number): Promise<PolicyIndex | undefined> =>
    (await indexes.fetch(`${version} ${scope}`, { context: { scope, version } }))?.index;
  return {
    pinned,
    latest: (scope) => bounded(deadlineMs, latest(sql, scope)),
    async currentOf(agents) {
      const keys = await bounded(deadlineMs, latestOfAgents(sql, agents));
      const found = await Promise.all(keys.map(({ scope, version }) => pinned(scope, version)));
      return found.filter((index) => index !== undefined);
    },
  };
};

async function load(sql: Sql, { scope, version }: PolicyKey): Promise<Indexed | undefined> {
  const [row] = await sql<{ document: string }[]>`
    select document from compiled_policy where scope = ${scope} and version = ${version}`;
  if (row === undefined) return undefined;
  const index = indexPolicy({ scope, version, document: decodePolicyDocument(row.document) });
  return { index, documentLength: row.document.length };
}

async function latest(sql: Sql, scope: string): Promise<LatestPolicy | undefined> {
  const [row] = await sql<{ version: number; schema_version: number }[]>`
    select version, schema_version from compiled_policy where scope = ${scope} order by version desc limit 1`;
  return row && { version: row.version, schemaVersion: row.schema_version };
}

/** Of an older schema none: they cannot be consented to before they are compiled again. */
const latestOfAgents = (sql: Sql, agents: readonly string[]): Promise<readonly PolicyKey[]> => sql<PolicyKey[]>`
  with accepted as (
    select m.agent_id, max(m.version) as version from manifest_version m join agent a using (agent_id)
    where a.name = any(${agents as string[]}) and m.status in ('reconciled', 'attested')
    group by m.agent_id
  ), newest as (
    select distinct on (p.scope) p.scope, p.version, p.schema_version from compiled_policy p
    where p.scope in (select s.scope from accepted join manifest_scope s using (agent_id, version))
    order by p.scope, p.version desc
  )
  select scope, version from newest where schema_version = ${policySchemaVersion}`;
