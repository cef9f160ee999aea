import { decodePolicyDocument, indexPolicy, type PolicyIndex, policySchemaVersion } from "@svc/core";
import { LRUCache } from "lru-cache";
import type { LatestPolicy, Policies } from "../ports/manifests.ts";
import type { Pool } from "./database.ts";

interface PolicyKey {
  readonly scope: string;
  readonly version: number;
}

interface Indexed {
  readonly index: PolicyIndex;
  readonly documentLength: number;
}

/** Of all cached documents. An index takes a small multiple of its document. */
const cachedDocumentLength = 67_108_864;

/** A policy never changes, so it is parsed and indexed once: for a large one that costs more than a decision. */
export const policyStore = ({ rows }: Pool): Policies => {
  const indexes = new LRUCache<string, Indexed, PolicyKey>({
    max: 10_000,
    maxSize: cachedDocumentLength,
    sizeCalculation: ({ documentLength }) => documentLength,
    async fetchMethod(_key, _stale, { context: { scope, version } }) {
      const [row] = await rows<{ document: string }>`
        select document from compiled_policy where scope = ${scope} and version = ${version}`;
      if (row === undefined) return undefined;
      const index = indexPolicy({ scope, version, document: decodePolicyDocument(row.document) });
      return { index, documentLength: row.document.length };
    },
    // A load that was evicted still answers those who wait for it.
    ignoreFetchAbort: true,
  });
  const pinned = async (scope: string, version: number): Promise<PolicyIndex | undefined> =>
    (await indexes.fetch(`${version} ${scope}`, { context: { scope, version } }))?.index;
  return {
    pinned,
    async latest(scope) {
      const [row] = await rows<LatestPolicy>`
        select version, schema_version as "schemaVersion" from compiled_policy
        where scope = ${scope} order by version desc limit 1`;
      return row;
    },
    async currentOf(agents) {
      // Without policies of an older schema: these cannot be consented to before they are compiled again.
      const keys = await rows<PolicyKey>`
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
      const found = await Promise.all(keys.map(({ scope, version }) => pinned(scope, version)));
      return found.filter((index) => index !== undefined);
    },
  };
};
