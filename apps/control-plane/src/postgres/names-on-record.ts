import { type AcceptedNames, type NameOrigin, type NamesOnRecord, serverName, type ToolFact } from "@svc/core";
import { AuthorityUnproven } from "../ports/manifests.ts";
import { type Authenticity, isProven, type Marked } from "./authenticity.ts";
import type { Transaction } from "./database.ts";

interface StoredFact extends ToolFact {
  readonly revision: number;
}

interface StoredNames {
  readonly origins: readonly NameOrigin[];
  readonly facts: readonly StoredFact[];
  /** References of which the newest row is not proven. */
  readonly newestUnproven: ReadonlySet<string>;
  readonly unproven: readonly string[];
  readonly faults: readonly AuthorityUnproven[];
}

/** What this service accepted for these tools and their servers. Call it under the locks of their names. */
async function readNames(tx: Transaction, refs: readonly string[], marks: Authenticity): Promise<StoredNames> {
  const owners = await readOrigins(
    tx,
    refs.map(serverName).filter((name) => name !== undefined),
    marks,
  );
  const facts = await readFacts(tx, refs, marks);
  return {
    origins: owners.proven,
    facts: [...facts.proven.values()],
    newestUnproven: facts.newestUnproven,
    unproven: [
      ...new Set(
        owners.unproven.map(({ name }) => name).filter((name) => !owners.proven.some((by) => by.name === name)),
      ),
      ...[...facts.newestUnproven].filter((ref) => !facts.proven.has(ref)),
    ],
    faults: [
      ...owners.unproven.map(({ name, origin }) => new AuthorityUnproven(`the owner ${origin} of ${name}`)),
      ...[...facts.newestUnproven].map((ref) => new AuthorityUnproven(`the newest fact of ${ref}`)),
    ],
  };
}

async function readOrigins(tx: Transaction, servers: readonly string[], marks: Authenticity) {
  const rows = await tx<(NameOrigin & Marked)[]>`
    select o.name, o.origin, o.mac, u.document_hash as "listedHash" from server_origin o
    left join unmarked u on u.kind = 'origin' and u.name = o.name and u.version = o.position
    where o.name = any(${servers as string[]}) order by o.accepted_at, o.origin`;
  const proven = new Map<string, NameOrigin>();
  const unproven = new Map<string, NameOrigin>();
  for (const row of rows) {
    const { name, origin } = row;
    const isOurs = isProven(marks, row, ["origin", name, origin], origin);
    (isOurs ? proven : unproven).set(JSON.stringify([name, origin]), { name, origin });
  }
  for (const key of proven.keys()) unproven.delete(key);
  return { proven: [...proven.values()], unproven: [...unproven.values()] };
}

/** The proven row of the highest revision counts. */
async function readFacts(tx: Transaction, refs: readonly string[], marks: Authenticity) {
  const rows = await tx<(StoredFact & Marked)[]>`
    select f.ref, f.privileged, f.access, f.revision, f.mac, u.document_hash as "listedHash" from tool_fact f
    left join unmarked u on u.kind = 'fact' and u.name = f.ref and u.version = f.position
    where f.ref = any(${refs as string[]}) order by f.ref, f.position desc`;
  const proven = new Map<string, StoredFact>();
  const newestUnproven = new Set<string>();
  for (const row of rows) {
    const { ref, privileged, access, revision } = row;
    const known = proven.get(ref);
    const isOurs = isProven(marks, row, factParts(row), `${privileged} ${access}`);
    if (!isOurs && known === undefined) newestUnproven.add(ref);
    if (isOurs && revision > (known?.revision ?? -1)) proven.set(ref, { ref, privileged, access, revision });
  }
  return { proven, newestUnproven };
}

const factParts = ({ ref, revision, privileged, access }: StoredFact) =>
  ["fact", ref, revision, String(privileged), access] as const;

/** @param onUnproven called for each row that counts for nothing, as long as no newer one of this service takes its place */
export async function namesOnRecord(
  tx: Transaction,
  refs: readonly string[],
  { marks, onUnproven }: { readonly marks: Authenticity; readonly onUnproven: (fault: AuthorityUnproven) => void },
): Promise<NamesOnRecord> {
  const { origins, facts, unproven, faults } = await readNames(tx, refs, marks);
  for (const fault of faults) onUnproven(fault);
  return { origins, facts, unproven };
}

/** Adds what is new, each with a mark. */
export async function addToRecord(
  tx: Transaction,
  accepted: AcceptedNames,
  at: Date,
  marks: Authenticity,
): Promise<void> {
  const refs = accepted.facts.map(({ ref }) => ref);
  const known = await readNames(tx, refs, marks);
  const origins = accepted.origins.filter(
    ({ name, origin }) => !known.origins.some((owner) => owner.name === name && owner.origin === origin),
  );
  await tx`
    insert into server_origin (name, origin, accepted_at, mac)
    select name, origin, ${at}, mac from unnest(${origins.map(({ name }) => name)}::text[],
      ${origins.map(({ origin }) => origin)}::text[],
      ${origins.map(({ name, origin }) => marks.mac(["origin", name, origin]))}::text[]) as accepted (name, origin, mac)`;
  const facts = accepted.facts.flatMap((fact): StoredFact[] => {
    const newest = known.facts.find(({ ref }) => ref === fact.ref);
    const isKnown = newest?.privileged === fact.privileged && newest.access === fact.access;
    if (isKnown && !known.newestUnproven.has(fact.ref)) return [];
    return [{ ...fact, revision: (newest?.revision ?? 0) + 1 }];
  });
  await tx`
    insert into tool_fact (ref, revision, privileged, access, accepted_at, mac)
    select ref, revision, privileged = 'true', access, ${at}, mac from unnest(${facts.map(({ ref }) => ref)}::text[],
      ${facts.map(({ revision }) => revision)}::int[], ${facts.map(({ privileged }) => String(privileged))}::text[],
      ${facts.map(({ access }) => access)}::text[],
      ${facts.map((fact) => marks.mac(factParts(fact)))}::text[]) as accepted (ref, revision, privileged, access, mac)`;
}
