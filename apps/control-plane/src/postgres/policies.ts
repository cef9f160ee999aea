import { decodePolicyDocument, indexPolicy, type PolicyIndex, policySchemaVersion } from "@svc/core";
import { sha256Base64url } from "@svc/tokens";
import { LRUCache } from "lru-cache";
import { AuthorityUnproven, type LatestPolicy, type Policies } from "../ports/manifests.ts";
import { type Authenticity, isProven, type Marked } from "./authenticity.ts";
import type { Pool } from "./database.ts";

interface PolicyKey {
  readonly scope: string;
  readonly version: number;
}

interface Indexed {
  readonly index: PolicyIndex;
  readonly documentLength: number;
  readonly documentHash: string;
}

/** Of all cached documents. An index takes a small multiple of its document. */
const cachedDocumentLength = 67_108_864;

/** A policy never changes, so it is parsed and indexed once: for a large one that costs more than a decision. */
export const policyStore = (
  { rows }: Pool,
  marks: Authenticity,
  onUnproven: (fault: AuthorityUnproven) => void,
): Policies => {
  const indexes = new LRUCache<string, Indexed, PolicyKey>({
    max: 10_000,
    maxSize: cachedDocumentLength,
    sizeCalculation: ({ documentLength }) => documentLength,
    async fetchMethod(_key, _stale, { context: { scope, version } }) {
      const [row] = await rows<Marked & { document: string }>`
        select p.document, p.mac, u.document_hash as "listedHash" from compiled_policy p
        left join unmarked u on u.kind = 'policy' and u.name = p.scope and u.version = p.version
        where p.scope = ${scope} and p.version = ${version}`;
      if (row === undefined) return undefined;
      if (!isProven(marks, row, ["policy", scope, version, row.document], row.document)) {
        const fault = new AuthorityUnproven(`the policy of scope ${JSON.stringify(scope)}, version ${version},`);
        onUnproven(fault);
        throw fault;
      }
      const index = indexPolicy({ scope, version, document: decodePolicyDocument(row.document) });
      return { index, documentLength: row.document.length, documentHash: sha256Base64url(row.document) };
    },
    // A load that was evicted still answers those who wait for it.
    ignoreFetchAbort: true,
  });
  const load = (scope: string, version: number) =>
    indexes.fetch(`${version} ${scope}`, { context: { scope, version } });
  const pinned = async (scope: string, version: number): Promise<PolicyIndex | undefined> =>
    (await load(scope, version))?.index;
  return {
    pinned,
    documentHash: async (scope, version) => (await load(scope, version))?.documentHash,
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
